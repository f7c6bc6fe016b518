import Foundation

/// A folder of events as files, as `FileTransport` writes and `sluice collect` keeps them. Other processes may add files.
package struct LakeFolder: Sendable {
    package let path: String

    /// Returns nil if the folder has no dates: it can be the one of a store.
    ///
    /// - Throws: A ``FileProblem`` if the folder can't be listed.
    package init?(_ path: String) throws(FileProblem) {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard try names(in: self.path).contains(where: isDay) else { return nil }
    }

    /// All files, in the order of their dates, and the reasons why the files of some folders are missing here.
    ///
    /// - Throws: A ``FileProblem`` if the folder of the lake can't be listed.
    package func files() throws(FileProblem) -> (files: [LakeFile], unlisted: [FileProblem]) {
        var (files, unlisted): ([LakeFile], [FileProblem]) = ([], [])
        func list(_ folder: String, hasHour: Bool) {
            do throws(FileProblem) {
                for name in try names(in: folder) {
                    if !hasHour, name.hasPrefix("hour=") { list("\(folder)/\(name)", hasHour: true) }
                    files += [LakeFile(name, in: folder, hasHour: hasHour)].compactMap(\.self)
                }
            } catch {
                unlisted.append(error)
            }
        }
        for date in try names(in: path) where isDay(date) { list("\(path)/\(date)", hasHour: false) }
        return (files, unlisted)
    }

    /// Where files are written before they get their names.
    var writing: String { "\(path)/.writing" }
}

/// A file of a lake.
package struct LakeFile: Hashable, Sendable {
    package let path: String
    package let isCompressed: Bool
    /// Whether it is in the folder of an hour, below the one of its date.
    package let hasHour: Bool

    init?(_ name: String, in folder: String, hasHour: Bool) {
        guard name.hasSuffix(".ndjson") || name.hasSuffix(".ndjson.gz") else { return nil }
        (path, isCompressed, self.hasHour) = ("\(folder)/\(name)", name.hasSuffix(".gz"), hasHour)
    }

    /// Calls `body` with each line, without its newline.
    ///
    /// - Throws: A ``LakeProblem``, a ``FileProblem``, or an error of `body`.
    func readLines(_ body: (ArraySlice<UInt8>) throws -> Void) throws {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { throw FileProblem(path) }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        guard isCompressed else { return try LakeFile.readLines(of: handle, body) }
        let pipe = Pipe()
        let gzip = try GzipProgram(["-dc"], input: handle, output: pipe)
        try LakeFile.readLines(of: pipe.fileHandleForReading, body)
        guard gzip.isSuccessful() else { throw LakeProblem("\(path) is damaged: gzip can't decompress it") }
    }

    private static func readLines(of file: FileHandle, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
        var rest: [UInt8] = []
        while let data = try file.read(upToCount: 262_144), !data.isEmpty {
            rest += data
            var start = 0
            while let end = rest[start...].firstIndex(of: 0x0A) {
                try body(rest[start..<end])
                start = end + 1
            }
            rest.removeFirst(start)
        }
        if !rest.isEmpty { try body(rest[...]) }
    }
}

/// The reason why a file of a lake is left as it is.
package struct LakeProblem: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
