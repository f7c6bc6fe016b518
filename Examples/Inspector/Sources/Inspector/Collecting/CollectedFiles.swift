import Foundation
import Sluice
import StoreFiles

/// Keeps arrived events as lines of JSON, in `date=YYYY-MM-DD/<name>.ndjson` by the day of each event in UTC.
///
/// A file is only ever appended to, with one call for each request and day.
struct CollectedFiles {
    private let folder: String
    /// Other processes have other names, so they never write to the same file.
    private let name: String

    /// Creates the folder if it doesn't exist.
    init(at folder: String, name: String = "collected-\(UUID().uuidString.lowercased()).ndjson") throws {
        (self.folder, self.name) = (folder, name)
        try create(folder)
    }

    private func create(_ directory: String) throws(CollectProblem) {
        if mkdir(directory, 0o700) != 0, errno != EEXIST { throw CollectProblem(directory) }
    }

    /// Writes events, which then survive the end of this process.
    ///
    /// - Throws: A ``CollectProblem``. The events of some days may then be in their files.
    func keep(_ events: [(line: EventLine, time: Timestamp)]) throws(CollectProblem) {
        var days: [String: [UInt8]] = [:]
        for event in events {
            days[String(event.time.description.prefix(10)), default: []] += event.line.bytes + [0x0A]
        }
        for (day, bytes) in days.sorted(by: { $0.key < $1.key }) {
            let directory = "\(folder)/date=\(day)"
            // A developer deletes the folder to begin with an empty one.
            for path in [folder, directory] { try create(path) }
            try append(bytes, to: "\(directory)/\(name)")
        }
    }

    private func append(_ bytes: [UInt8], to path: String) throws(CollectProblem) {
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw CollectProblem(path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw CollectProblem(path) }
        do throws(WriteFailure) {
            try Terminal.write(bytes, to: descriptor)
        } catch {
            // Half a line would spoil the file for other readers.
            _ = ftruncate(descriptor, status.st_size)
            throw CollectProblem(path, error.code)
        }
    }
}

/// The collected events can't be kept.
struct CollectProblem: Error, CustomStringConvertible {
    let path: String
    let code: CInt

    init(_ path: String, _ code: CInt = errno) {
        (self.path, self.code) = (path, code)
    }

    var description: String { "\(path) can't be written: \(String(cString: strerror(code)))" }
}
