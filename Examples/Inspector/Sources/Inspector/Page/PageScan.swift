import Dispatch
import Sluice
import StoreFiles
import Synchronization

/// A search in the whole folder for the page: the counts by name, user and session, and the newest events.
struct PageScan: Sendable {
    let folder: StoreFolder
    /// Normalized.
    let query: EventQuery
    /// Events that the page has seen, and that are not in the folder any more.
    let former: [AppendedEvent]

    private enum Limits {
        /// The page shows 300 events, each with the places of its routes.
        static let rows = 1_200
        static let bytes = 2_097_152
        /// The different texts of a result.
        static let texts = 100
    }

    /// Whether a page still waits for the result.
    private final class Interest: Sendable {
        let exists = Atomic(true)
    }

    /// Reading files blocks a thread, so it must not be one of the tasks. One search at a time.
    private static let queue = DispatchQueue(label: "sluice.scan")

    /// Returns lines of JSON: `{"progress":{"bytes","total"}}` a few times per second, and the `{"result":{…}}` at the end.
    /// The search ends when the reader does.
    func stream() -> AsyncStream<[UInt8]> {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(16))
        let interest = Interest()
        continuation.onTermination = { _ in interest.exists.store(false, ordering: .relaxed) }
        PageScan.queue.async {
            var last = ContinuousClock.now
            let result = result { progress in
                if last.duration(to: .now) > .milliseconds(200) {
                    last = .now
                    continuation.yield(PageScan.line(of: progress))
                }
                return interest.exists.load(ordering: .relaxed)
            }
            continuation.yield(result)
            continuation.finish()
        }
        return stream
    }

    /// Reads the folder, until `onProgress` returns false.
    func result(onProgress: (FolderScan.Progress) -> Bool) -> [UInt8] {
        var scan = FolderScan(query)
        var found = Recent<FoundEvent>(limit: Limits.rows, bytes: Limits.bytes)
        func add(_ event: FoundEvent) {
            found.append(event, bytes: event.place.line?.bytes.count ?? 0, time: event.event.time.milliseconds)
        }
        var problem: FileProblem?
        do throws(FileProblem) {
            try scan.read(folder, onProgress: onProgress) { add($0) }
        } catch {
            problem = error
        }
        for event in former { scan.look(at: event, reason: nil) { add($0) } }
        let rows = found.elements.map { EventRow.json(of: $0.place, isDead: $0.reason != nil) }
        return PageScan.line(of: scan, rows, problem ?? scan.problems.first)
    }

    private static func line(of progress: FolderScan.Progress) -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.object("progress") {
                $0["bytes"] = PropertyValue.int(progress.bytes)
                $0["total"] = PropertyValue.int(progress.total)
            }
        }
        return writer.bytes + [0x0A]
    }

    private static func line(of scan: FolderScan, _ rows: [[UInt8]], _ problem: FileProblem?) -> [UInt8] {
        let tally = scan.tally
        var writer = JSONWriter()
        writer.object {
            $0.object("result") {
                $0["events"] = PropertyValue.int(tally.events)
                $0["unreadable"] = PropertyValue.int(scan.unreadable)
                $0["problem"] = problem?.description
                write(tally.names, "names", to: &$0)
                write(tally.users, "users", to: &$0)
                write(tally.sessions, "sessions", to: &$0)
                $0["width"] = PropertyValue.int(tally.times.width)
                $0.array("times", tally.times.periods) { writer, period in
                    writer.array([period.start, Int64(period.count)]) { $0.integer($1) }
                }
                $0.array("rows", rows) { $0.raw($1) }
            }
        }
        return writer.bytes + [0x0A]
    }

    private static func write(_ counts: EventTally.Counts, _ name: String, to writer: inout JSONWriter) {
        writer.object(name) {
            $0["distinct"] = PropertyValue.int(counts.distinct)
            $0["others"] = PropertyValue.int(counts.others)
            $0.array("top", counts.top(Limits.texts)) { writer, top in
                writer.object {
                    $0["text"] = top.text
                    $0["count"] = PropertyValue.int(top.count)
                }
            }
        }
    }
}

extension EventQuery {
    /// Reads the parameters of a search, and normalizes it.
    init(_ parameters: [String: String]) throws(BodyProblem) {
        self.init()
        func time(_ name: String, _ missing: Int64) throws(BodyProblem) -> Int64 {
            guard let text = parameters[name], !text.isEmpty else { return missing }
            guard let time = Int64(text) else { throw BodyProblem("\(name) must be milliseconds since 1970") }
            return time
        }
        (text, name) = (parameters["text", default: ""], parameters["name", default: ""])
        (user, session) = (parameters["user", default: ""], parameters["session", default: ""])
        let (from, to) = (try time("from", .min), try time("to", .max))
        guard from <= to else { throw BodyProblem("from is later than to") }
        times = from...to
        normalize()
    }
}
