import Sluice
import StoreFiles

/// The server-sent events of the page. JSON contains no newline, so one line of data is enough.
enum MonitorFrame {
    /// The state of the folder at one moment.
    struct Counts {
        /// The waiting events by route.
        var waiting: [String: Int] = [:]
        /// By route.
        var deadLetters: [String: Int] = [:]
        /// The collected events in the folder.
        var arrived = 0
        /// The short names of the segments that are sent next, or now.
        var next: [String] = []
        var inFlight = 0
        var routes: [RouteSummary] = []
        var delivered = 0
        var appended = 0
        var damaged = 0
        var problem: String?
        var received: Receiver.Report?
    }

    static func welcome(
        folder: StoreFolder, destination: Destination?, receives: Bool, since: Timestamp
    ) -> Monitor.Frame {
        frame("welcome") { writer in
            writer["folder"] = folder.path
            writer["to"] = destination?.url
            writer["format"] = destination?.formatName
            writer["receives"] = PropertyValue.bool(receives)
            writer["since"] = PropertyValue.int(since.milliseconds)
        }
    }

    static func counts(_ counts: Counts) -> Monitor.Frame {
        frame("counts") { writer in
            writer["waiting"] = PropertyValue.int(counts.waiting.values.reduce(0, +))
            writer["arrived"] = PropertyValue.int(counts.arrived)
            writer["inFlight"] = PropertyValue.int(counts.inFlight)
            writer.array("next", counts.next) { $0.string($1) }
            writer["delivered"] = PropertyValue.int(counts.delivered)
            writer["deadLetters"] = PropertyValue.int(counts.deadLetters.values.reduce(0, +))
            writer["appended"] = PropertyValue.int(counts.appended)
            writer["damaged"] = PropertyValue.int(counts.damaged)
            writer["running"] = PropertyValue.int(counts.routes.running)
            writer["problem"] = counts.problem
            writer.array("routes", counts.routes) { writer, route in
                writer.object { write(route, counts, to: &$0) }
            }
            guard let received = counts.received else { return }
            writer.object("received") {
                $0["requests"] = PropertyValue.int(received.requests)
                $0["repeated"] = PropertyValue.int(received.repeated)
                $0["refused"] = PropertyValue.int(received.refusedRequests)
            }
        }
    }

    private static func write(_ route: RouteSummary, _ counts: Counts, to writer: inout JSONWriter) {
        writer["route"] = route.name
        writer["state"] = route.state
        writer["waiting"] = PropertyValue.int(counts.waiting[route.name] ?? 0)
        writer["deadLetters"] = PropertyValue.int(counts.deadLetters[route.name] ?? 0)
        guard let status = route.status else { return }
        writer["at"] = PropertyValue.int(status.at)
        writer["nextAttempt"] = route.nextAttempt.map { .int($0) }
        writer["lastStatus"] = status.lastStatus.map { .int($0) }
        writer["lastFailure"] = status.lastFailure
    }

    static func dead(_ groups: [DeadLetterGroups.Group], _ letters: [[UInt8]], keys: [String]) -> Monitor.Frame {
        frame("dead") { writer in
            writer.array("groups", groups) { writer, group in
                writer.object {
                    $0["route"] = group.key.route
                    $0["reason"] = group.key.reason
                    $0["response"] = group.key.response
                    $0["count"] = PropertyValue.int(group.count)
                    $0["newest"] = group.newest.map { .int($0.milliseconds) }
                }
            }
            writer.array("letters", letters) { $0.raw($1) }
            writer.array("keys", keys) { $0.string($1) }
        }
    }

    static func refused(_ refusals: [Receiver.Refusal]) -> Monitor.Frame {
        frame("refused") { writer in
            writer.array("refusals", refusals) { writer, refusal in
                writer.object {
                    $0["at"] = PropertyValue.int(refusal.time.milliseconds)
                    $0["status"] = refusal.status.map { .int($0) }
                    $0["reason"] = refusal.reason
                    $0["events"] = PropertyValue.int(refusal.events)
                    $0["names"] = refusal.names
                }
            }
        }
    }

    static func removed(_ segments: Set<String>) -> Monitor.Frame {
        frame("removed") { $0.array("segments", segments.sorted()) { $0.string($1) } }
    }

    static func rows(_ events: [AppendedEvent], skipped: Int) -> Monitor.Frame {
        let rows = events.map { EventRow.json(of: $0) }
        return frame("rows") { writer in
            writer["skipped"] = PropertyValue.int(skipped)
            writer.array("rows", rows) { $0.raw($1) }
        }
    }

    private static func frame(_ name: String, _ members: (inout JSONWriter) -> Void) -> Monitor.Frame {
        var writer = JSONWriter()
        writer.object(members)
        return Array("event: \(name)\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8)
    }
}
