import Sluice
import SluiceTesting

extension World {
    /// Bytes that no event's line in a file is longer than.
    static let largestEvent = 8_192

    /// Does one thing that can happen to a host, its machine, its network or its disk.
    func act() {
        bury()
        if lives.isEmpty { start() }
        guard let life = lives.randomElement(using: &random) else { return }
        if chance(3) { trackDuringSynchronization(life, chance(2) ? .critical : .normal) }
        let (powerLoss, deletion, erasure, foreign) = (92, 99, 104, 103)
        var action = number(0...103)
        if deletesOften, chance(4) { action = deletion }
        if losesPowerOften, chance(10) { action = powerLoss }
        if erasesOften, chance(8) { action = erasure }
        if hasOtherPrograms, chance(8) { action = foreign }
        switch action {
        case 0...39: track(life)
        case 40...59: pass()
        case 60...63: flush(life)
        case 64...67: pause(life)
        case 68...73: signal(life)
        case 74...79: server.setMood(SimulatedServer.Mood.allCases.randomElement(using: &random) ?? .well)
        case 80...83: server.setMood(.well)
        case 84...87: breakDisk(life)
        case 88...89: life.process.setFault(nil)
        case 90: life.process.die(after: number(0...40))
        case 91: kill(life)
        case powerLoss:
            if losesPowerOften { synchronizeOften(life) }
            if chance(2) { losePower() }
        case 93...94: shutdown(life, deadline: .seconds(number(0...20)))
        case 95:
            if chance(4) { jumpClock() }
            if lives.count < 3 { start() }
        case 96: jumpClock()
        case 97: if chance(4) { deleteDirectory() }
        case 98: if chance(2) { flipBit() }
        case foreign: if chance(2) { appendForeignLine() } else { moveSegment() }
        case deletion: if chance(2) { deleteAll(life) }
        case erasure: erase(life)
        default: manageDeadLetters(life)
        }
        SerialTasks.run()
        bury()
        lastQuiet = time.continuousTime()
        for life in lives {
            check(life)
            _ = displaced(of: life)
        }
    }

    private func track(_ life: Life) {
        let count = number(1...40)
        let isFlood = chance(6)
        let areTogether = chance(3)
        say(
            "life \(life.number) tracks \(count) from \(lastSerial + 1)\(isFlood ? ", large" : "")"
                + (areTogether ? ", together" : ""))
        let trackAll = {
            for _ in 0..<count where !life.process.isDead {
                let bytes = isFlood ? self.number(0...7_000) : self.number(0...200)
                self.trackOne(life, bytes: bytes, priority: self.chance(4) ? .critical : .normal)
                if self.chance(3) { SerialTasks.run(self.number(0...6)) }
            }
        }
        if areTogether, let pipeline = life.pipeline { pipeline.trackTogether(trackAll) } else { trackAll() }
    }

    /// Some intervals pass, and nothing can be delivered.
    private func synchronizeOften(_ life: Life) {
        server.setMood(.down)
        trackDuringSynchronization(life, .critical)
        // One event: the next one creates a file while the entry of this one's file is synchronized.
        lastSerial += 1
        life.track(lastSerial, bytes: number(0...200), priority: .normal)
        for _ in 0..<number(1...8) {
            time.advance(by: .milliseconds(50))
            SerialTasks.run()
        }
    }

    /// The drive is busy for a while, and the host goes on.
    private func trackDuringSynchronization(_ life: Life, _ priority: Event.Priority) {
        life.process.duringSynchronization = { [unowned self, unowned life] in
            lastSerial += 1
            say("life \(life.number) tracks \(lastSerial) during a synchronization")
            life.track(lastSerial, bytes: number(0...200), priority: priority)
        }
    }

    /// The host tracks an event, the plugin of the route does, or the plugin inserts one before the host's.
    private func trackOne(_ life: Life, bytes: Int, priority: Event.Priority) {
        lastSerial += 1
        switch number(0...15) {
        case 0: life.plugin.track(lastSerial, priority: priority)
        case 1:
            lastSerial += 1
            life.track(lastSerial, bytes: bytes, priority: priority, inserting: lastSerial - 1)
        default: life.track(lastSerial, bytes: bytes, priority: priority)
        }
    }

    private func pass() {
        let seconds = [1, 3, 15, 60, 400, 86_400].randomElement(using: &random) ?? 1
        say("\(seconds) s pass")
        if chance(5) {
            time.suspendMachine(for: .seconds(seconds))
        } else {
            time.advance(by: .milliseconds(number(1...seconds * 1_000)))
        }
    }

    private func flush(_ life: Life) {
        guard let pipeline = life.pipeline else { return }
        say("life \(life.number) flushes")
        Task { await pipeline.flush() }
        if chance(2) { SerialTasks.run(number(0...30)) }
    }

    /// The host wants everything forgotten, whether it waits, is on its way, or comes in while that is done.
    private func deleteAll(_ life: Life) {
        guard let pipeline = life.pipeline else { return }
        say("life \(life.number) deletes all")
        let deletion = books.beginsDeletion(in: life.number)
        // What was evicted or had expired, and could not be removed, does not wait any more, and is not deleted.
        let (books, process) = (books, life.process)
        Task {
            let isDone = await pipeline.deleteWaitingEvents()
            let isReliable = !process.hadFaults && !process.isDead
            if !isDone, isReliable, !books.isShutDown(deletion.life) {
                books.violated("life \(deletion.life) gets false from deleteAll() without a reason")
            }
            books.ended(deletion, isDone: isDone && isReliable)
        }
        if chance(2) { SerialTasks.run(number(0...30)) }
    }

    /// The host erases the events of one person, who has each second to seventh one.
    private func erase(_ life: Life) {
        guard let pipeline = life.pipeline else { return }
        let share = number(2...7)
        let rest = number(0...share - 1)
        say("life \(life.number) erases the events with the rest \(rest) of \(share)")
        let deletion = books.beginsDeletion(in: life.number) { $0 % share == rest }
        let (books, process) = (books, life.process)
        Task {
            let report = await pipeline.erase { Books.serial($0.bytes).map { $0 % share == rest } ?? false }
            books.ended(deletion, report, isDead: process.isDead)
        }
        if chance(2) { SerialTasks.run(number(0...30)) }
    }

    private func manageDeadLetters(_ life: Life) {
        guard let pipeline = life.pipeline else { return }
        let isReplay = !chance(4)
        let share = UInt64(number(1...3))
        say("life \(life.number) \(isReplay ? "replays" : "discards") dead letters")
        Task {
            do {
                if isReplay {
                    try await pipeline.replayDeadLetters { $0.id % share == 0 }
                } else {
                    try await pipeline.discardDeadLetters { $0.id % share == 0 }
                }
            } catch {
                // A disk that fails, or a pipeline that has ended.
            }
        }
    }

    private func pause(_ life: Life) {
        life.isPaused.toggle()
        say("life \(life.number) \(life.isPaused ? "pauses" : "resumes")")
        if life.isPaused { life.pipeline?.pauseDelivery() } else { life.pipeline?.resumeDelivery() }
    }

    private func signal(_ life: Life) {
        let signals: [Signal] = [
            .didBecomeActive, .willResignActive, .didEnterBackground, .willTerminate, .connectivity(.available),
            .connectivity(.unavailable),
        ]
        life.pipeline?.signal(signals.randomElement(using: &random) ?? .didEnterBackground)
    }

    private func jumpClock() {
        let days = [-30, 30, 3_650, -3_650].randomElement(using: &random) ?? 0
        say("the wall clock jumps by \(days) days")
        var wall = time.wallTime()
        wall.milliseconds += Int64(days) * 86_400_000
        time.setWallTime(wall)
        books.clockWasSet()
    }

    private func breakDisk(_ life: Life) {
        // A segment without its name needs a disk that works.
        if !displaced(of: life).isEmpty { return }
        let all = Set(SimulatedProcess.Operation.allCases)
        let writing: Set<SimulatedProcess.Operation> = [.create, .write, .makeDirectory]
        let kinds: [(Set<SimulatedProcess.Operation>, [FileError])] = [
            (writing, [.noSpace, .quotaExceeded]),
            (writing.union([.removeFile, .rename]), [.readOnly]),
            (all, [.inputOutput]),
            ([.synchronize], [.inputOutput, .noSpace]),
            ([.open, .create, .list], [.tooManyOpenFiles]),
            ([.removeFile], [.accessDenied]),
            ([.read, .open], [.inputOutput]),
        ]
        guard let kind = kinds.randomElement(using: &random) else { return }
        say("life \(life.number): \(kind.0.map { "\($0)" }.sorted()) fail")
        life.process.setFault(
            SimulatedProcess.Fault(
                errors: kind.1, operations: kind.0, rarity: [1, 2, 10].randomElement(using: &random) ?? 1))
        // What cannot be read is set aside, and overtaken.
        if !kind.0.isDisjoint(with: [.read, .open, .list, .lock, .status]) { books.orderIsOff() }
    }

    /// What holds at every moment at which nothing is under way.
    private func check(_ life: Life) {
        guard let route = life.pipeline?.ledger.routes[0] else { return }
        if route.waiting < 0 { books.violated("life \(life.number) has less than nothing: \(route)") }
        if !books.hasInFlight(life.number), route.waiting != life.stored {
            books.violated("life \(life.number) has miscounted: \(route.waiting) are not \(life.stored)")
        }
        guard !life.process.hadFaults, !books.hasReplayed(life.number) else { return }
        let bytes = disk.withLock { disk in
            disk.segments(of: life.process.processID).reduce(disk.spareBytes(of: life.process.processID)) {
                $0 + $1.ownBytes
            }
        }
        if bytes > life.settings.capacity {
            books.violated("life \(life.number) holds \(bytes) bytes of \(life.settings.capacity)")
        }
    }

    private func pass(minutes: Int, until isDone: () -> Bool) {
        var left = minutes
        SerialTasks.run()
        while left > 0, !isDone() {
            left -= 1
            time.advance(by: .seconds(60))
            SerialTasks.run()
        }
    }

    /// A gateway that answers bad events with any status holds up no good ones.
    private func expectGoodEventsBesideBadOnes() {
        server.setMood(.answersBad)
        // An event whose batch isn't settled is still on the disk, and so is a damaged line, which is no event. One without a
        // record was written by a process that died before it could say so.
        let good = {
            self.serialsOnDisk().filter { serial in
                guard let record = self.books.record(serial) else { return false }
                return !SimulatedServer.isBad(serial) && !record.isDone && !record.isDamaged
            }
        }
        pass(minutes: 6_000, until: { good().isEmpty })
        let left = good()
        if !left.isEmpty { books.violated("\(left.count) good events wait behind bad ones, as \(left[0])") }
    }

    /// The end: nothing fails any more, and whatever waits anywhere has to arrive.
    func finish() {
        server.setMood(.well)
        for life in lives {
            life.process.setFault(nil)
            life.process.die(after: .max)
            if chance(3) { kill(life) } else { shutdown(life, deadline: .seconds(number(0...600))) }
        }
        bury()
        var settings = Life.Settings(random: &random)
        settings.capacity = 1 << 40
        settings.maximumAge = .seconds(100 * 365 * 86_400)
        start(settings)
        guard let last = lives.last else { return books.violated("the last life cannot start") }
        // It comes up before its server does.
        let moods: [SimulatedServer.Mood] = [
            .down, .throttles, .throttlesSome, .refusesAll, .holds, .answersBad, .answersAll,
        ]
        server.setMood(moods.randomElement(using: &random) ?? .down)
        pass(minutes: 10, until: { false })
        if chance(3) { expectGoodEventsBesideBadOnes() }
        server.setMood(.well)
        let isDone = { last.pipeline?.ledger.routes[0].waiting == 0 && self.serialsOnDisk().isEmpty }
        pass(minutes: 600, until: isDone)
        lastSerial += 1
        last.track(lastSerial, bytes: 10, priority: .normal)
        // A route whose receiver refused everything pauses; a flush ends that. Without a failure, the interval is enough.
        if let pipeline = last.pipeline, pipeline.ledger.routes[0].attempts.lastFailure != nil {
            Task { await pipeline.flush() }
        }
        pass(minutes: 1, until: { false })
        let isOffered = books.record(lastSerial)?.isOffered ?? true
        if !isOffered { books.violated("the last event is not offered within a minute") }
        pass(minutes: 600, until: isDone)
        shutdown(last, deadline: .seconds(600))
        let left = serialsOnDisk()
        if !left.isEmpty { books.violated("\(left.count) events are never delivered, as \(left[0])") }
        books.found(deadLetters: deadLettersOnDisk())
        books.close()
        // Whoever still sleeps would be remembered for ever.
        time.advance(by: .seconds(1_000 * 86_400))
        SerialTasks.run()
    }
}
