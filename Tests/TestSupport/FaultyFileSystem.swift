package import Sluice
package import SluiceTesting

/// The system's files, with failures where a test wants them.
package final class FaultyFileSystem: FileSystem {
    package enum Operation: Hashable, CaseIterable {
        case open, create, write, overwrite, read, synchronize, truncate, status, removeFile, makeDirectory, list,
            rename, lock
        /// Also counted as ``synchronize``.
        case synchronizeDirectory
    }

    private struct Fault {
        var error: FileError
        /// The number of calls that succeed before the first failure.
        var skip: Int
        var times: Int
        /// The beginnings of the paths that are meant; all paths if there are none.
        var paths: [String]
    }

    /// A drive that takes its time.
    private struct SlowDrive {
        let time: VirtualTime
        let duration: Duration
        var paths: [FileDescriptor: String] = [:]
        /// The times of the first writes that are not synchronized, by path.
        var writes: [String: Duration] = [:]
        var mostFiles = 0
        var longest = Duration.zero

        mutating func wrote(to file: FileDescriptor) {
            // The readings of clocks in the lock need no synchronization.
            guard let path = paths[file], !path.hasSuffix("/lock") else { return }
            if writes[path] == nil { writes[path] = time.continuousTime() }
            look()
        }

        mutating func synchronized(_ file: FileDescriptor) {
            look()
            if let path = paths[file] { writes[path] = nil }
        }

        private mutating func look() {
            mostFiles = max(mostFiles, writes.count)
            if let first = writes.values.min() { longest = max(longest, time.continuousTime() - first) }
        }
    }

    private struct State {
        var drive: SlowDrive?
        var faults: [Operation: Fault] = [:]
        var writeLimit = Int.max
        /// The number of bytes that can still be written. The write that reaches it is short.
        var space = Int.max
        var calls: [Operation: Int] = [:]
        var processID: Int32?
        var bootID: String?
        var userID: UInt32?
        var beforeLock: (skip: Int, body: @Sendable () -> Void)?
        var duringSynchronization: (@Sendable () -> Void)?
        var beforeOpening: (paths: [String], body: @Sendable () -> Void)?
        var openFiles = 0
        var mostOpenFiles = 0
    }

    private let base = SystemFileSystem()
    private let state = Locked(State())

    private let reusesFiles: Bool

    /// - Parameter reusesFiles: whether stores reuse files, as on a disk that overwrites them in place.
    package init(reusesFiles: Bool = false) {
        self.reusesFiles = reusesFiles
    }

    /// - Parameter paths: the beginnings of the paths that are meant, for `create`, `open` and `removeFile`.
    package func fail(
        _ operation: Operation, with error: FileError, after skip: Int = 0, times: Int = .max,
        below paths: [String] = []
    ) {
        state.withLock { $0.faults[operation] = Fault(error: error, skip: skip, times: times, paths: paths) }
    }

    package func heal() {
        state.withLock { state in
            state.faults = [:]
            state.space = .max
            state.writeLimit = .max
        }
    }

    package func limitWrites(to count: Int) {
        state.withLock { $0.writeLimit = count }
    }

    package func limitSpace(to count: Int) {
        state.withLock { $0.space = count }
    }

    package func pretend(processID: Int32) {
        state.withLock { $0.processID = processID }
    }

    /// Pretends that the machine was restarted.
    package func pretend(bootID: String) {
        state.withLock { $0.bootID = bootID }
    }

    package func pretend(userID: UInt32) {
        state.withLock { $0.userID = userID }
    }

    /// Runs `body` like another process, just before a lock is taken: the next one, or a later one.
    package func beforeLock(skipping skip: Int = 0, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeLock = (skip, body) }
    }

    /// Runs `body` once, while the drive is busy with the next synchronization.
    package func duringNextSynchronization(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.duringSynchronization = body }
    }

    /// Runs `body` once, just before one of these files is opened the next time.
    package func beforeNextOpening(of paths: [String], _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeOpening = (paths, body) }
    }

    /// Moves `time` forward in each synchronization.
    package func becomeSlow(by duration: Duration, on time: VirtualTime) {
        state.withLock { $0.drive = SlowDrive(time: time, duration: duration) }
    }

    /// The most files that were unsynchronized at the same time, and the longest time that one was.
    package var unsynchronized: (files: Int, time: Duration) {
        state.withLock { ($0.drive?.mostFiles ?? 0, $0.drive?.longest ?? .zero) }
    }

    package func calls(_ operation: Operation) -> Int {
        state.withLock { $0.calls[operation, default: 0] }
    }

    /// The largest number of files that were open at the same time.
    package var mostOpenFiles: Int { state.withLock(\.mostOpenFiles) }

    private func count(_ operation: Operation, _ path: String = "") throws(FileError) {
        let error: FileError? = state.withLock { state in
            state.calls[operation, default: 0] += 1
            guard var fault = state.faults[operation],
                fault.paths.isEmpty || fault.paths.contains(where: path.hasPrefix)
            else { return nil }
            defer { state.faults[operation] = fault }
            guard fault.skip == 0 else {
                fault.skip -= 1
                return nil
            }
            guard fault.times > 0 else { return nil }
            fault.times -= 1
            return fault.error
        }
        if let error { throw error }
    }

    package func openFile(_ path: String, _ options: OpenOptions, mode: UInt32) throws(FileError) -> FileDescriptor {
        let body = state.withLock { state -> (@Sendable () -> Void)? in
            guard let next = state.beforeOpening, next.paths.contains(path) else { return nil }
            state.beforeOpening = nil
            return next.body
        }
        body?()
        try count(.open, path)
        if options.contains(.create), isMissing(path) { try count(.create, path) }
        let file = try base.openFile(path, options, mode: mode)
        state.withLock { state in
            state.openFiles += 1
            state.mostOpenFiles = max(state.mostOpenFiles, state.openFiles)
            state.drive?.paths[file] = path
        }
        return file
    }

    private func isMissing(_ path: String) -> Bool {
        do throws(FileError) {
            _ = try base.status(of: path)
            return false
        } catch {
            return true
        }
    }

    package func closeFile(_ file: FileDescriptor) {
        base.closeFile(file)
        state.withLock { $0.openFiles -= 1 }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, to file: FileDescriptor) throws(FileError) -> Int {
        try count(.write)
        let allowed = state.withLock { state in
            let allowed = min(bytes.count, state.writeLimit, state.space)
            state.space -= allowed
            return allowed
        }
        guard allowed > 0 else { throw .noSpace }
        let count = try base.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(allowed)), to: file)
        state.withLock { $0.drive?.wrote(to: file) }
        return count
    }

    package func write(
        _ bytes: UnsafeRawBufferPointer, to file: FileDescriptor, at offset: Int
    ) throws(FileError) -> Int {
        try count(.overwrite)
        return try base.write(bytes, to: file, at: offset)
    }

    package func read(
        from file: FileDescriptor, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(FileError) -> Int {
        try count(.read)
        return try base.read(from: file, into: buffer, at: offset)
    }

    package var maximumFileBytes: Int { .max }

    package func overwritesInPlace(_ path: String) -> Bool { reusesFiles }

    package func makeOverwritable(_ file: FileDescriptor) throws(FileError) -> Bool {
        try count(.lock)
        return try base.makeOverwritable(file)
    }

    package func synchronize(_ file: FileDescriptor) throws(FileError) {
        // These tests can't see whether the drive has the bytes.
        if try base.status(of: file).kind == .directory { try count(.synchronizeDirectory) }
        try count(.synchronize)
        let body = state.withLock { state in
            defer { state.duringSynchronization = nil }
            return state.duringSynchronization
        }
        body?()
        guard let drive = state.withLock(\.drive) else { return }
        drive.time.advance(by: drive.duration)
        state.withLock { $0.drive?.synchronized(file) }
    }

    package func truncate(_ file: FileDescriptor, to size: Int) throws(FileError) {
        try count(.truncate)
        let freed = try base.status(of: file).size - size
        try base.truncate(file, to: size)
        state.withLock { state in
            if state.space < .max - max(0, freed) { state.space += freed }
        }
    }

    package func status(of file: FileDescriptor) throws(FileError) -> FileStatus {
        try count(.status)
        return try base.status(of: file)
    }

    package func status(of path: String) throws(FileError) -> FileStatus {
        try count(.status)
        return try base.status(of: path)
    }

    package func status(of name: String, in directory: FileDescriptor, at path: String) throws(FileError) -> FileStatus
    {
        try status(of: path)
    }

    package func removeFile(_ path: String) throws(FileError) {
        try count(.removeFile, path)
        try base.removeFile(path)
    }

    package func removeDirectory(_ path: String) throws(FileError) {
        try base.removeDirectory(path)
    }

    package func makeDirectory(_ path: String, mode: UInt32) throws(FileError) {
        try count(.makeDirectory)
        try base.makeDirectory(path, mode: mode)
    }

    package func list(_ path: String) throws(FileError) -> [String] {
        try count(.list)
        return try base.list(path)
    }

    package func rename(_ path: String, to newPath: String) throws(FileError) {
        try count(.rename)
        try base.rename(path, to: newPath)
    }

    package func lock(_ file: FileDescriptor) throws(FileError) -> Bool {
        try count(.lock)
        let beforeLock = state.withLock { state in
            guard let (skip, body) = state.beforeLock else { return nil as (@Sendable () -> Void)? }
            state.beforeLock = skip > 0 ? (skip - 1, body) : nil
            return skip > 0 ? nil : body
        }
        beforeLock?()
        return try base.lock(file)
    }

    package func unlock(_ file: FileDescriptor) { base.unlock(file) }

    package func link(_ file: FileDescriptor, at path: String) throws(FileError) {
        try count(.rename, path)
        try base.link(file, at: path)
    }

    package var processID: Int32 { state.withLock { $0.processID } ?? base.processID }

    package var bootID: String { state.withLock { $0.bootID } ?? base.bootID }

    package var userID: UInt32 { state.withLock { $0.userID } ?? base.userID }

    package func currentDirectory() throws(FileError) -> String {
        try base.currentDirectory()
    }
}
