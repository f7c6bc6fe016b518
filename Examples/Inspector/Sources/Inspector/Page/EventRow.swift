import Sluice
import StoreFiles

/// The JSON of the page's rows.
///
/// An event is sent as a tree in which each value has its type: JSON alone shows a date as a string, and JavaScript
/// rounds large integers.
enum EventRow {
    /// Returns `{"segment","route","process","event","time","id","critical","tree"}`. An event that has arrived has no route.
    ///
    /// - Parameter isDead: Adds `"dead":true`, for a dead letter in the list of events.
    static func json(of event: AppendedEvent, isDead: Bool = false) -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0["segment"] = event.segment
            $0["route"] = event.route
            if isDead { $0["dead"] = PropertyValue.bool(true) }
            write(event.line, process: event.process, to: &$0)
        }
        return writer.bytes
    }

    /// Returns the same members without the segment, and the reason, the receiver's words and the date of the dead letter.
    static func json(of letter: DeadLetterLine?, in directory: ProcessDirectory) -> [UInt8] {
        var writer = JSONWriter()
        let process = directory.name
        writer.object {
            $0["route"] = directory.route
            $0["reason"] = letter?.reason ?? ""
            $0["response"] = letter?.response
            if let letter { $0["at"] = PropertyValue.int(letter.date.milliseconds) }
            write(letter?.event, process: process, to: &$0)
        }
        return writer.bytes
    }

    private static func write(_ line: EventLine?, process: String, to writer: inout JSONWriter) {
        // The beginning of a UUID is enough; a day has ten characters more than `date=`.
        writer["process"] = String(process.prefix(process.hasPrefix("date=") ? 15 : 8))
        guard let line else {
            writer["event"] = "(encrypted)" as String
            return
        }
        do throws(SluiceError) {
            let event = try line.event()
            writer["event"] = event.name
            writer["time"] = PropertyValue.int(event.time.milliseconds)
            writer["id"] = event.id.description
            writer["critical"] = PropertyValue.bool(event.priority == .critical)
            writer.array("tree", nodes(of: event)) { writer, node in
                writer.object { write(node, to: &$0) }
            }
        } catch {
            writer["event"] = "(unreadable)" as String
        }
    }

    private static func nodes(of event: Event) -> [Property] {
        var nodes = [
            Property("event", .string(event.name)),
            Property("id", .string(event.id.description)),
            Property("time", .date(event.time)),
            Property("priority", .string("\(event.priority)")),
        ]
        let ids = [
            ("distinct_id", event.distinctID), ("anonymous_id", event.anonymousID), ("login_id", event.loginID),
        ]
        for case (let name, let id?) in ids { nodes.append(Property(name, .string(id))) }
        nodes.append(Property("properties", .object(event.properties)))
        return nodes
    }

    /// Writes `{"n":<name>,"t":<type>,"v":<text>}`, or children in `c` instead of the text.
    private static func write(_ node: Property, to writer: inout JSONWriter) {
        func leaf(_ type: String, _ text: String) {
            writer["t"] = type
            writer["v"] = text
        }
        writer["n"] = node.name
        switch node.value {
        case .string(let string): leaf("string", string)
        case .int(let int): leaf("int", String(int))
        case .double(let double): leaf("double", String(double))
        case .bool(let bool): leaf("bool", String(bool))
        case .date(let date): leaf("date", date.description)
        case .null: leaf("null", "null")
        case .array(let array):
            writer["t"] = "array" as String
            writer.array("c", array.enumerated()) { writer, element in
                writer.object { write(Property(String(element.offset), element.element), to: &$0) }
            }
        case .object(let object):
            writer["t"] = "object" as String
            writer.array("c", object) { writer, property in
                writer.object { write(property, to: &$0) }
            }
        }
    }
}
