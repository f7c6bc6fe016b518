import Sluice
import SluiceJSONL
import SluiceTesting

/// One seed's world: a disk, a server, a clock, and processes that come and go.
final class World {
    let time = VirtualTime()
    let disk = Locked(SimulatedDisk())
    let books: Books
    let server: SimulatedServer
    var random: SeededRandom
    /// Those that are alive.
    var lives: [Life] = []
    var lastSerial = 0
    private var lastLife = 0
    /// The former paths of segments that another program has moved, by their new ones.
    private var moves: [String: String] = [:]
    /// Lives in which a synchronisation may have failed.
    private var faultyLives: Set<Int> = []
    private var lifeEnds: [Int: Duration] = [:]
    /// When there was nothing left to do: a process that dies while time passes may have died at any moment since.
    var lastQuiet = Duration.zero
    let isVerbose: Bool
    private let maximumAge: Duration
    /// In every fourth world, batches may overtake each other.
    private let maximumBatchesInFlight: Int
    /// In every sixteenth world, where batches may overtake each other, the hosts often delete everything. A batch that is
    /// in flight meanwhile is rare otherwise.
    let deletesOften: Bool
    /// In some worlds, the hosts often erase a part of the events. Others are as they were before hosts could do that.
    let erasesOften: Bool
    /// In every eighth world, other programs often write to segments and move them.
    let hasOtherPrograms: Bool
    /// In every eighth world, the power is often lost, and all stores synchronize once an interval.
    let losesPowerOften: Bool

    init(seed: UInt64, isVerbose: Bool) {
        self.isVerbose = isVerbose
        books = Books(isVerbose: isVerbose)
        random = SeededRandom(seed: seed)
        maximumAge = Bool.random(using: &random) ? .seconds(600) : .seconds(25 * 86_400)
        server = SimulatedServer(time: time, seed: random.next())
        maximumBatchesInFlight = seed % 4 == 3 ? 3 : 1
        deletesOften = seed % 16 == 7
        erasesOften = seed % 8 == 2 || seed % 16 == 11
        losesPowerOften = seed % 8 == 5
        hasOtherPrograms = seed % 8 == 4
        if maximumBatchesInFlight > 1 { books.orderIsOff() }
    }

    func say(_ text: @autoclosure () -> String) {
        if isVerbose { print("\(time.continuousTime()): \(text())") }
    }

    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    func chance(_ one: Int) -> Bool { number(1...one) == 1 }

    // MARK: Lives

    func start(_ given: Life.Settings? = nil) {
        lastLife += 1
        var settings = given ?? Life.Settings(random: &random)
        // A segment of a life with another limit would be too coarse for this one's.
        if given == nil { settings.maximumAge = maximumAge }
        if losesPowerOften { settings.durability = .interval(milliseconds: 50) }
        settings.policy.maximumBatchesInFlight = maximumBatchesInFlight
        books.began(maximumAge: settings.maximumAge)
        let number = lastLife
        let inspector = Inspector(life: number, settings: settings, books: books, time: time)
        let process = SimulatedProcess(Int32(number), disk: disk, seed: random.next(), onRemoval: inspector.removes)
        say("life \(number) starts: \(settings.durability), \(settings.capacity) bytes")
        if given == nil, chance(10) { process.die(after: self.number(0...60)) }
        do {
            let life = try Life(
                number, settings: settings, process: process, server: server, books: books, time: time,
                incoming: inspector.incoming, seed: random.next())
            lives.append(life)
            if lives.count > 1 { books.orderIsOff() }
        } catch {
            if !process.isDead { books.violated("life \(number) cannot start: \(error)") }
            process.kill()
        }
        bury()
    }

    /// Takes the dead out of the world.
    func bury() {
        for life in lives where life.process.isDead { kill(life) }
    }

    func kill(_ life: Life) {
        say("life \(life.number) is killed")
        life.process.kill()
        leave(life)
        life.end()
        SerialTasks.run()
        books.left(life: life.number)
        if life.settings.durability == .buffered { excuseUnwritten(of: life, "never written") }
        let displaced = Set(displaced(of: life).flatMap { SegmentFile.serials(in: $0.bytes) })
        books.excuse { serial, _ in displaced.contains(serial) ? "in a file that was moved" : nil }
    }

    private func leave(_ life: Life) {
        lives.removeAll { $0 === life }
        lifeEnds[life.number] = lastQuiet
        if life.process.hadFaults { faultyLives.insert(life.number) }
    }

    func excuseUnwritten(of life: Life, _ reason: String) {
        let written = Set(linesOnDisk())
        books.excuse { _, record in
            record.life == life.number && !written.contains(record.line.dropLast()) ? reason : nil
        }
    }

    func shutdown(_ life: Life, deadline: Duration) {
        guard let pipeline = life.pipeline else { return }
        say("life \(life.number) is shut down")
        books.shutsDown(life.number)
        let end = time.continuousTime() + deadline
        let result = Locked<Ledger?>(nil)
        Task {
            let ledger = await pipeline.shutdown(timeout: deadline)
            result.withLock { $0 = ledger }
        }
        SerialTasks.run()
        while !life.process.isDead, result.withLock({ $0 == nil }), let next = time.deadlines.first, next <= end {
            time.advanceToNextSleeper()
            SerialTasks.run()
        }
        guard !life.process.isDead else { return kill(life) }
        leave(life)
        if let ledger = result.withLock({ $0 }) {
            if !ledger.isBalanced { books.violated("life \(life.number) is not balanced: \(ledger)") }
        } else {
            books.violated("life \(life.number) does not end")
        }
        life.end()
        SerialTasks.run()
        let open = life.process.openFiles
        if !open.isEmpty { books.violated("life \(life.number) leaves files open: \(open)") }
        books.left(life: life.number)
        if life.settings.durability == .buffered, life.process.hadFaults {
            excuseUnwritten(of: life, "could not be written")
        }
    }

    // MARK: The disk

    func serialsOnDisk() -> [Int] {
        segmentsOnDisk().flatMap(\.serials)
    }

    func deadLettersOnDisk() -> [Int] {
        disk.withLock { $0.files(below: "/data/events") }
            .filter { SegmentFile.holdsDeadLetters($0.path) }
            .flatMap { SegmentFile.serials(in: $0.file.bytes) }
    }

    private func segmentsOnDisk() -> [SegmentFile] {
        disk.withLock { $0.files(below: "/data/events") }.compactMap { SegmentFile(path: $0.path, file: $0.file) }
    }

    /// Whole lines of events, without what the file adds to the event.
    private func linesOnDisk() -> [ArraySlice<UInt8>] {
        segmentsOnDisk().flatMap(\.lines).map { $0.dropLast(18) }
    }

    func losePower() {
        say("the power is lost")
        for life in lives { life.process.kill() }
        bury()
        disk.withLock { $0.losePower(&random) }
        let kept = Set(linesOnDisk())
        let now = time.continuousTime()
        let interval = Duration.milliseconds(50)
        books.excuse { _, record in
            // Whole lines only: what was torn is found to be damaged.
            guard !kept.contains(record.line.dropLast()) else { return nil }
            switch record.durability {
            // It is as safe as the store that replayed it promises.
            case _ where record.isReplayed: return "power"
            case .full: return nil
            case .interval:
                let end = lifeEnds[record.life] ?? now
                return record.trackedAt > end - interval || faultyLives.contains(record.life) ? "power" : nil
            case .process, .buffered: return "power"
            }
        }
        books.powerLost(at: now, present: Set(serialsOnDisk() + deadLettersOnDisk()))
    }

    func deleteDirectory() {
        say("the directory is deleted")
        disk.withLock { disk in
            for (path, _) in disk.files(below: "/data") { disk.remove(path) }
            for folder in disk.directories(below: "/data").reversed() { disk.remove(folder) }
        }
        for life in lives { life.process.disturb() }
        // A store notices it a millisecond later.
        time.advance(by: .milliseconds(1))
        books.excuse { _, _ in "deleted" }
        // What could not be read before was given up, and is now found to be gone.
        books.orderIsOff()
    }

    // MARK: Other programs

    func appendForeignLine() {
        let files = disk.withLock { $0.files(below: "/data/events") }.filter { $0.path.hasSuffix(".jsonl") }
        guard let (path, _) = files.randomElement(using: &random) else { return }
        say("another program appends to \(path)")
        disk.withLock { disk in
            guard let node = disk.node(path) else { return }
            disk.change(file: node) { file in
                file.bytes += SegmentFile.foreignLine
                file.foreignBytes += SegmentFile.foreignLine.count
                file.unsafeChanges.append(.append(SegmentFile.foreignLine))
            }
        }
    }

    /// Another program moves an open segment, and perhaps creates an empty file in its place, as `logrotate` does.
    func moveSegment() {
        guard let life = lives.filter({ !$0.process.hadFaults }).randomElement(using: &random) else { return }
        let paths = disk.withLock { disk in
            let open = disk.descriptors.values.filter {
                $0.process == life.process.processID && $0.isWritable && !$0.isLookedAt
            }
            let nodes = Set(open.map(\.node))
            return disk.files(below: "/data/events").map(\.path).filter { path in
                path.hasSuffix(".jsonl") && disk.node(path).map(nodes.contains) ?? false
            }
        }
        guard let path = paths.randomElement(using: &random) else { return }
        let newPath = "/elsewhere/\(life.number)-\(moves.count)"
        moves[newPath] = path
        say("another program moves \(path)")
        disk.withLock { disk in
            do throws(FileError) {
                if disk.node("/elsewhere") == nil { _ = try disk.make(.directory(.init()), at: "/elsewhere") }
                try disk.rename(path, to: newPath)
                if moves.count % 2 == 0 { _ = try disk.make(.file(.init()), at: path) }
            } catch {
                books.violated("\(path) can't be moved: \(error)")
            }
        }
    }

    /// Moved files of a process that have not got their names back.
    func displaced(of life: Life) -> [SimulatedDisk.File] {
        disk.withLock { disk in
            let moved = disk.files(below: "/elsewhere").filter { $0.path.hasPrefix("/elsewhere/\(life.number)-") }
            return moved.compactMap { path, file in
                guard let former = moves[path], disk.node(former) == disk.node(path) else { return file }
                disk.remove(path)
                return nil
            }
        }
    }

    func flipBit() {
        let files = disk.withLock { $0.files(below: "/data/events") }
            .filter { $0.path.hasSuffix(".jsonl") && !$0.file.bytes.isEmpty }
        guard let (path, file) = files.randomElement(using: &random) else { return }
        // Not the last newline: the line that it would spoil may be yet to come.
        let index = number(0...max(0, file.bytes.count - 2))
        say("a bit of \(path) flips at \(index)")
        let touched = Set(SegmentFile.serials(around: index, in: file.bytes))
        let bit = UInt8(1) << number(0...7)
        // It must not look to the observer like another event.
        var flipped = file.bytes
        flipped[index] ^= bit
        guard Set(SegmentFile.serials(in: flipped)).isSubset(of: SegmentFile.serials(in: file.bytes)) else { return }
        disk.withLock { disk in
            guard let node = disk.node(path) else { return }
            disk.change(file: node) { file in
                file.bytes = flipped
                file.safe = file.bytes
                file.unsafeChanges = []
            }
        }
        books.damaged(touched)
    }
}
