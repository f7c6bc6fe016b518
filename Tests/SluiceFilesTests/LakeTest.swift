import Foundation
import Sluice
import SluiceGzip
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceFiles

/// A lake in a temporary folder, and transports that write to it.
struct LakeTest {
    let directory = TemporaryDirectory()
    let files = FaultyFileSystem()
    let time = VirtualTime()
    private let reported = Locked<[String]>([])

    /// What the transports have reported.
    var notes: [String] { reported.withLock(\.self) }

    var path: String { directory.path + "/lake" }

    /// A new transport, as of a new process.
    func transport(
        gzip: Bool = false, _ partition: EventPartition = .day,
        utcOffset: @escaping @Sendable (Timestamp) -> Duration = { _ in .zero }, maximumAge: Duration? = nil
    ) throws -> FileTransport {
        let transport = FileTransport(
            at: path, gzip: gzip, EventCalendar(partition, utcOffset: utcOffset), maximumAge, files: files,
            deflater: gzip ? .system : nil)
        try transport.open(
            TransportObserver { note in reported.withLock { $0.append(note) } }, in: PipelineEnvironment(time: time))
        return transport
    }

    /// The paths of all files below the lake, without the lake, sorted.
    var paths: [String] {
        (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }

    /// The paths that readers look for.
    var visible: [String] { paths.filter { $0.hasSuffix(".ndjson") || $0.hasSuffix(".ndjson.gz") } }

    func lines(of name: String) throws -> [String] {
        let text = String(decoding: try directory.read("lake/\(name)"), as: UTF8.self)
        #expect(text.hasSuffix("\n"))
        return text.split(separator: "\n").map { String($0) }
    }

    /// The numbers of the events in all files, by an independent reader of JSON.
    func numbers() throws -> [Int] {
        struct Line: Decodable {
            struct Properties: Decodable { let number: Int }
            let properties: Properties
        }
        return try visible.flatMap { name in
            try lines(of: name).map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)).properties.number }
        }
    }
}

/// The first time of the events: 2026-01-01T12:00:00Z.
let noon: Int64 = 1_767_268_800_000
let hour: Int64 = 3_600_000
let day: Int64 = 86_400_000

func line(_ number: Int, at time: Int64 = noon, _ properties: Properties = [:]) throws -> EventLine {
    var properties = properties
    properties["number"] = .int(number)
    return try EventLine(
        Event(
            id: EventID(high: 0x019A_A5F1_0000_7000, low: 0x8000_0000_0000_0000 | UInt64(number)), name: "Sample",
            time: Timestamp(milliseconds: time), properties: properties))
}

func batch(_ numbers: Range<Int>, at time: (Int) -> Int64 = { _ in noon }) throws -> Batch {
    Batch(id: 1, events: try numbers.map { try line($0, at: time($0)) })
}

extension Verdicts {
    /// The verdicts on this number of events.
    func list(_ count: Int) -> [Verdict] {
        switch kind {
        case .all(let verdict): Array(repeating: verdict, count: count)
        case .each(let list): list
        }
    }
}
