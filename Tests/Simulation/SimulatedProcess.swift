import Sluice
import SluiceTesting

/// What one process sees of the simulated disk: calls that may fail, fall short, or be its last.
final class SimulatedProcess: FileSystem {
    enum Operation: CaseIterable, Hashable {
        case open, create, write, read, synchronize, truncate, status, removeFile, makeDirectory, list, rename, lock
    }

    struct Fault {
        let errors: [FileError]
        let operations: Set<Operation>
        /// One in so many calls fails.
        let rarity: Int
    }

    private struct State {
        var random: SeededRandom
        var isDead = false
        var callsToLive = Int.max
        var fault: Fault?
        var hadFaults = false
        var isDisturbed = false
        var failedToTruncate = false
        var hasTruncated = false
        /// Whether the store is in use, perhaps with its lock held.
        var isInUse = false
    }

    /// How often a file became that of another segment, in all worlds.
    static let reusedFiles = Locked(0)
    static var reuses: Int { reusedFiles.withLock(\.self) }

    let processID: Int32
    let userID: UInt32 = 1_000
    private let disk: Locked<SimulatedDisk>
    private let state: Locked<State>
    /// Called before a file is removed, with the disk locked.
    let onRemoval: @Sendable (SimulatedProcess, String, SimulatedDisk.File, inout SimulatedDisk) -> Void

    init(
        _ processID: Int32, disk: Locked<SimulatedDisk>, seed: UInt64,
        onRemoval: @escaping @Sendable (SimulatedProcess, String, SimulatedDisk.File, inout SimulatedDisk) -> Void
    ) {
        self.processID = processID
        self.disk = disk
        self.onRemoval = onRemoval
        state = Locked(State(random: SeededRandom(seed: seed)))
    }

    // MARK: What is done to it

    var isDead: Bool { state.withLock { $0.isDead } }

    /// The process ends in the middle of the call that comes after so many others.
    func die(after calls: Int) {
        state.withLock { $0.callsToLive = calls }
    }

    func kill() {
        state.withLock { $0.isDead = true }
        disk.withLock { $0.processEnded(processID) }
    }

    func setFault(_ fault: Fault?) {
        state.withLock { state in
            state.fault = fault
            if fault != nil { state.hadFaults = true }
        }
    }

    /// Something else happened to its files.
    func disturb() {
        state.withLock { state in
            state.hadFaults = true
            state.isDisturbed = true
        }
    }

    // nonisolated(unsafe): everything happens on one thread.
    /// Called once, as by another thread, while the drive is busy with a synchronization that nobody waits for.
    nonisolated(unsafe) var duringSynchronization: (() -> Void)?

    /// Runs `body`, which uses the store.
    func use<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let wasInUse = state.withLock { state in
            defer { state.isInUse = true }
            return state.isInUse
        }
        defer { state.withLock { $0.isInUse = wasInUse } }
        return try body()
    }

    private func letOthersRun() {
        guard state.withLock({ !$0.isInUse && !$0.isDead }) else { return }
        let body = duringSynchronization
        duringSynchronization = nil
        body?()
    }

    /// Whether it was disturbed, and its calls fail besides.
    var isUnreliable: Bool { state.withLock { $0.isDisturbed && $0.fault != nil } }

    /// Whether any of its calls may ever have failed.
    var hadFaults: Bool { state.withLock { $0.hadFaults } }

    var openFiles: [String] {
        disk.withLock { disk in
            disk.descriptors.values.filter { $0.process == processID }.map(\.path).sorted()
        }
    }

    /// - Returns: whether this is the process's last call, and takes effect only in part.
    private func begin(_ operation: Operation) throws(FileError) -> Bool {
        let (error, isLast): (FileError?, Bool) = state.withLock { state in
            if state.isDead { return (.inputOutput, false) }
            state.callsToLive -= 1
            if state.callsToLive < 0 {
                state.isDead = true
                return (nil, true)
            }
            if let fault = state.fault, fault.operations.contains(operation),
                Int.random(in: 0..<fault.rarity, using: &state.random) == 0
            {
                return (fault.errors.randomElement(using: &state.random), false)
            }
            return (nil, false)
        }
        if let error { throw error }
        return isLast
    }

    /// For a call that either takes effect or does not.
    func perform<Result>(
        _ operation: Operation, _ body: (inout SimulatedDisk) throws(FileError) -> Result
    ) throws(FileError) -> Result {
        let isLast = try begin(operation)
        if isLast, state.withLock({ Bool.random(using: &$0.random) }) {
            disk.withLock { $0.processEnded(processID) }
            throw .inputOutput
        }
        defer { if isLast { disk.withLock { $0.processEnded(processID) } } }
        return try disk.withLock(body)
    }

    // MARK: FileSystem

    func openFile(_ path: String, _ options: OpenOptions, mode: UInt32) throws(FileError) -> FileDescriptor {
        let exists = disk.withLock { $0.node(path) != nil }
        let operation: Operation = options.contains(.create) && !exists ? .create : .open
        return try perform(operation) { disk throws(FileError) in
            var node = disk.node(path)
            if node != nil, options.contains([.create, .exclusive]) { throw .exists }
            if node == nil, options.contains(.create) { node = try disk.make(.file(.init()), at: path) }
            guard let node else { throw .noSuchFile }
            if options.contains(.directory), case .file = disk.nodes[node] { throw .notADirectory }
            return disk.open(node, path, by: processID, isWritable: options.contains(.write))
        }
    }

    func closeFile(_ file: FileDescriptor) {
        disk.withLock { $0.close(file) }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor) throws(FileError) -> Int {
        try write(bytes, to: file, offset: nil)
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, to file: FileDescriptor, offset: Int?
    ) throws(FileError) -> Int {
        let isLast: Bool
        let part: Int
        do throws(FileError) {
            isLast = try begin(.write)
            part = state.withLock { state in
                let isShort = isLast || state.fault != nil && Int.random(in: 0..<8, using: &state.random) == 0
                return isShort
                    ? Int.random(in: isLast ? 0...bytes.count : 1...bytes.count, using: &state.random)
                    : bytes.count
            }
        } catch {
            throw error
        }
        let chunk = Array(bytes.prefix(part))
        return try disk.withLock { disk throws(FileError) in
            defer { if isLast { disk.processEnded(processID) } }
            guard let descriptor = disk.descriptors[file.rawValue], descriptor.isWritable else {
                throw .invalidArgument
            }
            disk.descriptors[file.rawValue]?.isLookedAt = false
            disk.change(file: descriptor.node) { file in
                if let offset {
                    SimulatedDisk.overwrite(&file.bytes, with: chunk, at: offset)
                    file.unsafeChanges.append(.overwrite(chunk, at: offset))
                } else {
                    file.bytes += chunk
                    file.unsafeChanges.append(.append(chunk))
                }
            }
            if isLast { throw .inputOutput }
            return part
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor, at offset: Int) throws(FileError) -> Int {
        try write(bytes, to: file, offset: offset)
    }

    func read(
        from file: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(FileError) -> Int {
        try perform(.read) { disk throws(FileError) in
            guard let descriptor = disk.descriptors[file.rawValue],
                case .file(let contents)? = disk.nodes[descriptor.node]
            else { throw .invalidArgument }
            let part = contents.bytes.dropFirst(offset).prefix(buffer.count)
            buffer.copyBytes(from: part)
            return part.count
        }
    }

    var maximumFileBytes: Int { .max }

    func overwritesInPlace(_ path: String) -> Bool { true }

    func makeOverwritable(_ file: FileDescriptor) throws(FileError) -> Bool {
        try perform(.lock) { disk throws(FileError) in
            guard let node = disk.descriptors[file.rawValue]?.node else { throw .invalidArgument }
            return disk.descriptors.values.count { $0.node == node } == 1
        }
    }

    func synchronize(_ file: FileDescriptor) throws(FileError) {
        do throws(FileError) {
            let isNamed = try perform(.synchronize) { disk throws(FileError) in
                guard let descriptor = disk.descriptors[file.rawValue] else { throw .invalidArgument }
                disk.synchronize(descriptor.node)
                return disk.node(descriptor.path) == descriptor.node
            }
            // The store gives a file that others have renamed its name back with its lock held, and others would wait.
            if isNamed { letOthersRun() }
        } catch {
            disk.withLock { disk in
                guard let descriptor = disk.descriptors[file.rawValue] else { return }
                disk.change(file: descriptor.node) { $0.isForsaken = true }
            }
            throw error
        }
    }

    func truncate(_ file: FileDescriptor, to size: Int) throws(FileError) {
        // Until it has not.
        let failedBefore = state.withLock { state in
            defer {
                state.failedToTruncate = true
                state.hasTruncated = true
            }
            return state.failedToTruncate
        }
        try perform(.truncate) { disk throws(FileError) in
            guard let descriptor = disk.descriptors[file.rawValue] else { throw .invalidArgument }
            disk.change(file: descriptor.node) { file in
                file.bytes = Array(file.bytes.prefix(size))
                file.foreignBytes = min(file.foreignBytes, size)
                file.unsafeChanges.append(.truncate(size))
            }
        }
        state.withLock { $0.failedToTruncate = failedBefore }
    }

    var failedToTruncate: Bool { state.withLock { $0.failedToTruncate } }

    /// What was cut off, and perhaps not synchronised, can be there again.
    func powerLost() {
        state.withLock { $0.failedToTruncate = $0.failedToTruncate || $0.hasTruncated }
    }

    func status(of file: FileDescriptor) throws(FileError) -> FileStatus {
        try perform(.status) { disk throws(FileError) in
            guard let descriptor = disk.descriptors[file.rawValue] else { throw .invalidArgument }
            disk.descriptors[file.rawValue]?.isLookedAt = true
            return try status(of: descriptor.node, on: disk)
        }
    }

    func status(of path: String) throws(FileError) -> FileStatus {
        try perform(.status) { disk throws(FileError) in
            guard let node = disk.node(path) else { throw .noSuchFile }
            return try status(of: node, on: disk)
        }
    }

    func status(of name: String, in directory: FileDescriptor, at path: String) throws(FileError) -> FileStatus {
        try status(of: path)
    }

    private func status(of node: Int, on disk: SimulatedDisk) throws(FileError) -> FileStatus {
        switch disk.nodes[node] {
        case .file(let file):
            FileStatus(
                kind: .file, mode: 0o600, owner: userID, device: 1, inode: UInt64(node), links: file.links,
                size: file.bytes.count)
        case .directory:
            FileStatus(
                kind: .directory, mode: 0o700, owner: userID, device: 1, inode: UInt64(node), links: 2, size: 0)
        case nil: throw .noSuchFile
        }
    }

    var bootID: String { disk.withLock { "boot \($0.starts)" } }

    func lock(_ file: FileDescriptor) throws(FileError) -> Bool {
        try perform(.lock) { disk throws(FileError) in
            guard let descriptor = disk.descriptors[file.rawValue] else { throw .invalidArgument }
            let locker = disk.lockers[descriptor.node] ?? file.rawValue
            disk.lockers[descriptor.node] = locker
            return locker == file.rawValue
        }
    }

    func unlock(_ file: FileDescriptor) {
        disk.withLock { $0.unlock(file) }
    }

    func currentDirectory() throws(FileError) -> String { "/" }
}
