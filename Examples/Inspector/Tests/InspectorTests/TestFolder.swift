import Foundation
import SluiceJSONL
import StoreFiles

/// A new folder for one test. It is removed with its contents when the object is released.
final class TestFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "inspector-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            // It stays in the folder for temporary files, where no other test finds it.
        }
    }

    /// Opens a store in it, as a host does.
    func openStore(capacity: Int = 1 << 30) throws -> JSONLStore {
        let store = JSONLStore(at: path, capacity: capacity)
        try store.open()
        return store
    }

    /// Stores events and ends the host.
    func write(_ events: [Event]) throws {
        let store = try openStore()
        for event in events { try store.append(EventLine(event)) }
        store.close()
    }

    /// The only directory of a process.
    func process() throws -> ProcessDirectory {
        let processes = try StoreFolder(path).processes()
        guard processes.count == 1 else { throw UnexpectedCount(count: processes.count) }
        return processes[0]
    }

    /// The bytes, compressed by the system's gzip.
    static func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
        let path = NSTemporaryDirectory() + UUID().uuidString
        defer { unlink("\(path).gz") }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let gzip = Process()
        gzip.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        gzip.arguments = ["gzip", path]
        try gzip.run()
        gzip.waitUntilExit()
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path).gz")))
    }

    /// The path, size and date of every file.
    func snapshot() throws -> [String: [String]] {
        let keys: [FileAttributeKey] = [.size, .modificationDate, .posixPermissions]
        var snapshot: [String: [String]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
            snapshot[name] = keys.map { "\(attributes[$0] ?? "")" }
        }
        return snapshot
    }
}

struct UnexpectedCount: Error {
    let count: Int
}

extension Event {
    /// An event whose id and time follow from its number.
    static func sample(
        _ number: Int, _ name: String = "Purchase", _ properties: Properties = ["amount": 12.5],
        priority: Priority = .normal, time: Timestamp = Timestamp(milliseconds: 1_767_225_600_000)
    ) -> Event {
        let high = UInt64(time.milliseconds) << 16 | 7 << 12 | UInt64(number & 0xFFF)
        return Event(
            id: EventID(high: high, low: 0b10 << 62 | UInt64(number)), name: name, time: time, priority: priority,
            properties: properties)
    }
}

/// Changes the bytes of a file.
func edit(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    let url = URL(fileURLWithPath: path)
    var bytes = [UInt8](try Data(contentsOf: url))
    change(&bytes)
    try Data(bytes).write(to: url)
}
