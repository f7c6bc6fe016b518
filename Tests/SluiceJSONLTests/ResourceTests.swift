import Dispatch
import Sluice
import SluiceLibC
import TestSupport
import Testing

@testable import SluiceJSONL

/// The host's limits: descriptors, closed standard descriptors.
struct ResourceTests: StoreSuite {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()

    /// Leaves directories of processes that ran at the same time, each with events and a dead letter.
    private func leaveDirectories(_ count: Int, from first: Int = 0, encryption: LineEncryption? = nil) throws {
        let places = (0..<count).map { _ in TemporaryDirectory() }
        for (index, place) in places.enumerated() {
            let number = first + 3 * index
            let store = try TestedStore.opened(JSONLStore(at: place.path, encryption: encryption))
            try store.append(.canonical(number))
            try store.rejectFirst()
            try store.append(.canonical(number + 1))
            try store.append(.canonical(number + 2, .critical))
            store.store.close()
            let name = try #require(try SystemFileSystem().list(place.path).first)
            try SystemFileSystem().rename("\(place.path)/\(name)", to: "\(directory.path)/\(name)")
        }
    }

    /// Delivers until the store has nothing more, through errors.
    private func deliver(_ store: TestedStore) -> Set<Int> {
        var delivered: Set<Int> = []
        for _ in 0..<1_000 {
            do {
                guard let batch = try store.nextBatch() else { break }
                delivered.formUnion(batch.numbers.compactMap(\.self))
                try store.settle(batch)
            } catch {
                continue
            }
        }
        return delivered
    }

    private func waitingNumbers(_ count: Int) -> Set<Int> { Set((0..<3 * count).filter { $0 % 3 != 0 }) }

    /// What fails while directories are adopted.
    enum Failure: CaseIterable { case descriptors, removal, moves }

    @Test(
        "directories that can't be opened, emptied or moved at first don't keep the others from being adopted",
        arguments: Failure.allCases)
    func failingDirectoriesDoNotBlockOthers(failure: Failure) throws {
        try leaveDirectories(10)
        switch failure {
        case .descriptors: files.fail(.open, with: .tooManyOpenFiles)
        case .removal:
            files.fail(.removeFile, with: .notPermitted, below: directory.names[..<4].map { "\(directory.path)/\($0)" })
        // Of dead letters.
        case .moves: files.fail(.rename, with: .noSpace, times: 3)
        }
        let store = try opened()
        if failure == .descriptors { files.heal() }
        #expect(deliver(store) == waitingNumbers(10))
        #expect(files.mostOpenFiles <= 16)
        if failure == .moves { #expect(try store.letters().count == 10) }
    }

    @Test("a directory of an ended process that can't be written to is not used for new events")
    func unwritableAdoptedDirectoryIsNotUsed() throws {
        try leaveDirectories(2)
        let first = try #require(directory.names.min())
        files.fail(.create, with: .accessDenied, below: ["\(directory.path)/\(first)"])
        let store = try opened()
        try store.append(.canonical(100))
        #expect(deliver(store) == waitingNumbers(2).union([100]))
    }

    @Test(
        "a store has at most 16 files open, whatever it does",
        arguments: [.buffered, .process, .interval(milliseconds: 10_000), .full] as [JSONLStore.Durability])
    func atMost16FilesAreOpen(durability: JSONLStore.Durability) throws {
        try leaveDirectories(40)
        let store = try opened(durability, capacity: 1 << 30)
        for number in 1_000..<31_000 { try store.append(.canonical(number, number % 9 == 0 ? .critical : .normal)) }
        try store.store.synchronize()
        var delivered = 0
        var batches: [Batch] = []
        while let batch = try store.nextBatch() {
            delivered += batch.events.count
            batches.append(batch)
            // Three workers.
            guard batches.count == 3 else { continue }
            for batch in batches { try store.settle(batch, rejected: Array(batch.rejected("bad").prefix(1))) }
            batches = []
        }
        for batch in batches { try store.settle(batch) }
        #expect(delivered == 30_080)
        let letters = try store.letters()
        #expect(letters.count > 40)
        _ = try store.replay(letters.prefix(50).map(\.id))
        _ = try store.discard(letters.dropFirst(50).map(\.id))
        try store.store.synchronize()
        #expect(try store.drain().count == 50)
        store.store.close()
        #expect(store.notes.isEmpty)
        #expect(files.mostOpenFiles <= 16)
        #expect(try directory.files().isEmpty)
    }

    @Test("the events of more processes than a store adopts at the same time are delivered once, without new events")
    func manyDirectoriesAreAdopted() throws {
        try leaveDirectories(60)
        for name in directory.names.sorted().prefix(30) {
            // Nothing waits in the first ones.
            for file in try SystemFileSystem().list("\(directory.path)/\(name)")
            where file.hasSuffix(".jsonl") && !file.hasPrefix("rejected") {
                try SystemFileSystem().removeFile("\(directory.path)/\(name)/\(file)")
            }
        }
        let store = try opened()
        #expect(!store.store.backlog.isEmpty)
        var delivered: [Int?] = []
        // As delivery does: an empty backlog is not asked for a batch.
        while !store.store.backlog.isEmpty, let batch = try store.nextBatch() {
            delivered += batch.numbers
            try store.settle(batch)
        }
        #expect(Set(delivered).count == 60)
        #expect(delivered.count == 60)
        #expect(try store.letters().count == 60)
        #expect(directory.names.count == 1)
        #expect(files.mostOpenFiles <= 16)
    }

    @Test("directories whose segments can't be read don't keep others from being adopted")
    func unreadableDirectoriesDoNotBlockOthers() throws {
        try leaveDirectories(25, encryption: .toy(7))
        try leaveDirectories(5, from: 100)
        let store = try opened()
        #expect(deliver(store) == Set((0..<15).filter { $0 % 3 != 0 }.map { 100 + $0 }))
        #expect(files.mostOpenFiles <= 16)
        store.expectConservation()
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
        @Test("no file gets the descriptor of the standard input, output or error of a host that closed it")
        func standardDescriptorsAreNotUsed() async {
            await #expect(processExitsWith: .success) {
                for descriptor in [CInt(0), 1, 2] { close(descriptor) }
                let directory = TemporaryDirectory()
                let store = try TestedStore.opened(JSONLStore(at: directory.path, durability: .full))
                for number in 0..<1_000 { try store.append(EventLine(number)) }
                try store.rejectFirst()
                try StateFile(path: "\(directory.path)/state").write([1])
                for descriptor in [CInt(0), 1, 2] {
                    var status = stat()
                    guard fstat(descriptor, &status) == 0 else { continue }
                    // The system's libraries open pipes and the like.
                    if [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) { exit(1) }
                }
            }
        }

        @Test("a host that writes to a standard input or output which it closed writes into no file of the store")
        func closedDescriptorsReceiveNothing() async {
            await #expect(processExitsWith: .success) {
                for descriptor in [CInt(0), 1, 2] { close(descriptor) }
                let directory = TemporaryDirectory()
                let isDone = Locked(false)
                let end = DispatchSemaphore(value: 0)
                DispatchQueue.global().async {
                    while !isDone.withLock(\.self) {
                        for descriptor in [CInt(0), 1, 2] { _ = write(descriptor, "printed\n", 8) }
                    }
                    end.signal()
                }
                let store = try TestedStore.opened(JSONLStore(at: directory.path))
                _ = try store.nextBatch(events: 20)
                for number in 0..<20_000 { try store.append(EventLine(number)) }
                store.store.close()
                isDone.withLock { $0 = true }
                end.wait()
                let next = try TestedStore.opened(JSONLStore(at: directory.path))
                guard try next.drain() == texts(0..<20_000), next.dropped.isEmpty, next.notes.isEmpty else { exit(1) }
            }
        }

        @Test("a limit on the size of files makes segments smaller, and refuses only longer events")
        func fileSizeLimitMakesSegmentsSmaller() async {
            await #expect(processExitsWith: .success) {
                var limit = rlimit(rlim_cur: 10_000, rlim_max: 10_000)
                #if canImport(Darwin)
                    setrlimit(RLIMIT_FSIZE, &limit)
                #else
                    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
                #endif
                let directory = TemporaryDirectory()
                let store = try TestedStore.opened(JSONLStore(at: directory.path))
                for number in 0..<1_000 { try store.append(EventLine(number)) }
                #expect(throws: SluiceError.self) { try store.append(EventLine(1_000, padding: 10_000)) }
                let batch = try #require(try store.nextBatch())
                let letters = batch.rejected("bad")
                try store.settle(batch, rejected: letters)
                #expect(try store.letters().count == letters.count)
                #expect(try store.drain().count == 1_000 - letters.count)
            }
        }
    #endif
}
