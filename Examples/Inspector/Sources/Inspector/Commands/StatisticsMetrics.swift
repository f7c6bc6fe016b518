import Sluice
import StoreFiles

/// The statistics as one object of JSON. Times are in milliseconds since 1970.
struct StatisticsJSON {
    let statistics: StoreStatistics
    let capacity: Int

    var text: String {
        var writer = JSONWriter()
        writer.object {
            $0["waiting"] = PropertyValue.int(statistics.waiting)
            $0["waiting_bytes"] = PropertyValue.int(statistics.waitingBytes)
            $0["dead_letters"] = PropertyValue.int(statistics.deadLetters)
            $0["dead_letter_bytes"] = PropertyValue.int(statistics.deadLetterBytes)
            $0["damaged"] = PropertyValue.int(statistics.damaged)
            $0["encrypted"] = PropertyValue.int(statistics.encrypted)
            $0["oldest"] = statistics.oldest.map { .int($0.milliseconds) }
            $0["capacity"] = PropertyValue.int(capacity)
            $0["running_at_least"] = PropertyValue.int(statistics.routes.running)
            $0.array("routes", statistics.routes) { writer, route in writer.object { write(route, to: &$0) } }
            $0.array("events", statistics.names) { writer, name in
                writer.object {
                    $0["event"] = name.name
                    $0["waiting"] = PropertyValue.int(name.count.waiting)
                    $0["dead_letters"] = PropertyValue.int(name.count.deadLetters)
                }
            }
            $0.object("priorities") {
                for priority in [Event.Priority.critical, .normal] {
                    $0["\(priority)"] = PropertyValue.int(statistics.priorities[priority] ?? 0)
                }
            }
            $0.object("ages") {
                for (limit, count) in zip(StoreStatistics.ageLimits, statistics.ages) {
                    $0[limit.name] = PropertyValue.int(count)
                }
            }
            $0.array("processes", statistics.processes) { writer, process in
                writer.object {
                    $0["process"] = process.name
                    $0["route"] = process.route
                    $0["running"] = PropertyValue.bool(process.isRunning)
                    $0["waiting"] = PropertyValue.int(process.waiting)
                    $0["dead_letters"] = PropertyValue.int(process.deadLetters)
                    $0["bytes"] = PropertyValue.int(process.bytes)
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func write(_ route: RouteSummary, to writer: inout JSONWriter) {
        let (waiting, deadLetters) = statistics.counts(of: route.name)
        writer["route"] = route.name
        writer["state"] = route.state
        writer["waiting"] = PropertyValue.int(waiting)
        writer["dead_letters"] = PropertyValue.int(deadLetters)
        writer["at"] = route.status.map { .int($0.at) }
        writer["next_attempt"] = route.nextAttempt.map { .int($0) }
        writer["last_status"] = route.status?.lastStatus.map { .int($0) }
        writer["last_failure"] = route.status?.lastFailure
    }
}

/// The statistics in the text format of Prometheus. All values are gauges, because the folder has no history.
struct StatisticsMetrics {
    let statistics: StoreStatistics

    var text: String {
        let routes = statistics.routes
        let counts = routes.map { ($0.name, statistics.counts(of: $0.name)) }
        var text = metric("sluice_waiting_events", "The events that wait.", counts.map { ("route", $0, $1.waiting) })
        text += metric("sluice_dead_letters", "The dead letters.", counts.map { ("route", $0, $1.deadLetters) })
        text += metric(
            "sluice_store_bytes", "The size of the events and dead letters in the folder.",
            routes.map { route in
                (
                    "route", route.name,
                    statistics.processes.filter { $0.route == route.name }.reduce(0) { $0 + $1.bytes }
                )
            })
        text += metric("sluice_damaged_lines", "The lines that can't be read.", [("", "", statistics.damaged)])
        text += metric(
            "sluice_running_processes",
            "At least so many processes use the folder: programs with different routes count as one.",
            [("", "", routes.running)])
        if let oldest = statistics.oldest {
            text += metric(
                "sluice_oldest_event_timestamp_seconds", "The time of the oldest waiting event.",
                [("", "", Int(oldest.milliseconds / 1_000))])
        }
        text += metric(
            "sluice_route_failing",
            "Whether the last attempt failed, or events wait because of an earlier failure: 1 or 0.",
            routes.map { ("route", $0.name, $0.status?.lastFailure == nil ? 0 : 1) })
        text += metric(
            "sluice_route_last_status", "The status of the last response.",
            routes.compactMap { route in route.status?.lastStatus.map { ("route", route.name, $0) } })
        text += metric(
            "sluice_route_next_attempt_timestamp_seconds", "The time of the next attempt.",
            routes.compactMap { route in route.nextAttempt.map { ("route", route.name, Int($0 / 1_000)) } })
        return text
    }

    private func metric(_ name: String, _ help: String, _ values: [(label: String, text: String, value: Int)]) -> String
    {
        if values.isEmpty { return "" }
        let lines = values.map { value in
            let label = value.label.isEmpty ? "" : "{\(value.label)=\"\(escaped(value.text))\"}"
            return "\(name)\(label) \(value.value)\n"
        }
        return "# HELP \(name) \(help)\n# TYPE \(name) gauge\n" + lines.joined()
    }

    private func escaped(_ text: String) -> String {
        // A quote with a combining mark is another character of Swift.
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            default: String(scalar)
            }
        }.joined()
    }
}
