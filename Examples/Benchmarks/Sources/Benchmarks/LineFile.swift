import Foundation

/// A file that is written with nothing but write(2).
final class LineFile: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("\(path) can't be created: \(String(cString: strerror(errno)))") }
    }

    deinit {
        close(descriptor)
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        // A short write shows when the lines are counted.
        _ = write(descriptor, bytes.baseAddress, bytes.count)
    }

    func synchronize() throws {
        try Failure.unless(Int(fdatasync(descriptor)), is: 0, "as the result of fdatasync")
    }
}

/// The files of a candidate.
enum Files {
    /// The lines of all files under `folder`, file after file, each with its newline.
    static func lines(under folder: String) throws -> [ArraySlice<UInt8>] {
        try paths(under: folder).flatMap { path in
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            return bytes.split(separator: UInt8(ascii: "\n")).map { bytes[$0.startIndex...$0.endIndex] }
        }
    }

    /// The number of lines that aren't empty: the part of a reused file that holds no event has newlines only.
    static func lineCount(under folder: String) throws -> Int {
        try paths(under: folder).reduce(0) { count, path in
            let bytes = try Data(contentsOf: URL(filePath: path))
            let newline = UInt8(ascii: "\n")
            return count + bytes.withUnsafeBytes { zip($0, $0.dropFirst()).count { $0 != newline && $1 == newline } }
        }
    }

    /// The number of entries of a folder, with the least work: no sorting, and nothing about the files.
    static func entryCount(of folder: String) throws -> Int {
        guard let stream = opendir(folder) else { throw Failure("\(folder) can't be read") }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        // Without itself and its parent.
        return count - 2
    }

    private static func paths(under folder: String) throws -> [String] {
        // The lock file of a store's directory has the readings of its clock.
        try FileManager.default.subpathsOfDirectory(atPath: folder).filter { !$0.hasSuffix("/lock") }.sorted()
            // What the route does, which is no part of the store, and can be replaced now.
            .filter { !$0.contains("status.json") }
            .map { "\(folder)/\($0)" }
            .filter { path in
                var isDirectory: ObjCBool = false
                return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
            }
    }
}
