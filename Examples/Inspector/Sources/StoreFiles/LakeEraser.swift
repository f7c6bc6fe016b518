import Foundation
package import Sluice

/// Erases events in a lake. Files are replaced as a whole: after a crash, one has either all of its lines or only the others.
package struct LakeEraser {
    /// The events that were erased.
    package private(set) var events = 0
    /// The files that had them.
    package private(set) var files = 0
    /// The files that may still have some, each with the reason.
    package private(set) var left: [String] = []

    private let lake: LakeFolder
    private let isMatch: (EventLine) -> Bool

    package init(_ lake: LakeFolder, where isMatch: @escaping (EventLine) -> Bool) {
        (self.lake, self.isMatch) = (lake, isMatch)
    }

    /// Erases the events in all files, including files that are added during the erasure.
    ///
    /// - Throws: A ``FileProblem`` if the folder of the lake can't be listed.
    package mutating func run() throws(FileProblem) {
        // Without a reader of its pipe, a write ends the process.
        signal(SIGPIPE, SIG_IGN)
        var seen: Set<LakeFile> = []
        var unlisted: [FileProblem] = []
        while true {
            let found = try lake.files()
            // The last look counts: a folder that expires is then gone.
            unlisted = found.unlisted
            let files = found.files.filter { !seen.contains($0) }
            if files.isEmpty { break }
            for file in files {
                seen.insert(file)
                do {
                    let count = try erase(in: file)
                    events += count
                    self.files += count > 0 ? 1 : 0
                } catch let problem as FileProblem where problem.isMissing && problem.path == file.path {
                    // It has expired. A copy that is missing leaves its file as it is.
                } catch {
                    left.append("\(file.path) is left as it is: \(error)")
                }
            }
        }
        left += unlisted.map(\.description)
        try removeAbandoned()
    }

    /// Returns the number of erased events.
    private func erase(in file: LakeFile) throws -> Int {
        let version = try FileStatus(of: file.path).version
        var (erased, kept) = (0, 0)
        try file.readLines { if isErased($0) { erased += 1 } else { kept += 1 } }
        guard erased > 0 else { return 0 }
        let copy = try kept > 0 ? Copy(of: file, in: lake) : nil
        defer { copy?.discard() }
        if let copy {
            try file.readLines { if !isErased($0) { try copy.add($0) } }
            try copy.finish()
        }
        // Files of `sluice collect` grow.
        guard try FileStatus(of: file.path).version == version else {
            throw LakeProblem("\(file.path) has changed: end the process that writes it, and repeat the command")
        }
        // Some readers fail at a file without lines.
        guard (copy.map { rename($0.path, file.path) } ?? unlink(file.path)) == 0 else {
            throw FileProblem(copy?.path ?? file.path)
        }
        try synchronizeFolder(of: file.path)
        return erased
    }

    private func isErased(_ line: ArraySlice<UInt8>) -> Bool {
        EventLine(collected: line).map(isMatch) ?? false
    }

    /// Removes what killed processes have left of their files. A file that is being written is locked.
    private mutating func removeAbandoned() throws(FileProblem) {
        guard access(lake.writing, F_OK) == 0 else { return }
        for name in try names(in: lake.writing) {
            let path = "\(lake.writing)/\(name)"
            do throws(FileProblem) {
                if try ReadOnlyFile(path).isLocked {
                    left.append("\(path) is being written: repeat the command")
                } else {
                    unlink(path)
                }
            } catch {
                if !error.isMissing { left.append("\(error)") }
            }
        }
    }
}

/// The new contents of a file, beside it.
private final class Copy {
    private let file: LakeFile
    let path: String
    private let output: FileHandle
    private let gzip: (program: GzipProgram, input: FileHandle)?
    private var buffer: [UInt8] = []

    init(of file: LakeFile, in lake: LakeFolder) throws {
        self.file = file
        path = "\(lake.writing)/\(UUID().uuidString).tmp"
        if mkdir(lake.writing, 0o777) != 0, errno != EEXIST { throw FileProblem(lake.writing) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileProblem(path) }
        output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // A process that starts removes the files of others unless they are locked.
        flock(descriptor, LOCK_EX)
        guard file.isCompressed else {
            gzip = nil
            return
        }
        let pipe = Pipe()
        gzip = (try GzipProgram(["-nc"], input: pipe, output: output), pipe.fileHandleForWriting)
    }

    func add(_ line: ArraySlice<UInt8>) throws {
        buffer += line
        buffer.append(0x0A)
        if buffer.count >= 65_536 { try flush() }
    }

    private func flush() throws {
        try (gzip?.input ?? output).write(contentsOf: buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Makes the contents survive a loss of power.
    func finish() throws {
        try flush()
        try gzip?.input.close()
        guard gzip?.program.isSuccessful() ?? true else { throw LakeProblem("\(path) can't be compressed by gzip") }
        var status = stat()
        guard stat(file.path, &status) == 0 else { throw FileProblem(file.path) }
        guard fchmod(output.fileDescriptor, status.st_mode & 0o7777) == 0 else { throw FileProblem(path) }
        // Only root can give a file away.
        if status.st_uid != geteuid() || status.st_gid != getegid() {
            _ = fchown(output.fileDescriptor, status.st_uid, status.st_gid)
        }
        try output.synchronize()
    }

    /// Removes the copy if it hasn't replaced the file.
    func discard() { unlink(path) }
}

private func synchronizeFolder(of path: String) throws(FileProblem) {
    let folder = open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw FileProblem(path) }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw FileProblem(path) }
}
