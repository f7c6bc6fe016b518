import Sluice
import StoreFiles

/// A body that has no events which can be read. The message is the response.
struct BodyProblem: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// The events in the body of a request: lines of JSON, or one value over any number of lines. A value is an event, an array, or an
/// object whose `batch` is one, as Segment, RudderStack and PostHog get it.
///
/// An event of Sluice is kept byte for byte. Another object becomes an event: its name, time and ids are looked for under the
/// usual names, and all other members become properties.
struct ReceivedBody {
    private(set) var events: [(line: EventLine, event: Event)] = []
    private let now: Timestamp
    private let makeID: () -> EventID

    /// - Throws: A ``BodyProblem`` that names the first line or element that is no event. Nothing is taken then.
    init(_ bytes: [UInt8], at now: Timestamp, makeID: @escaping () -> EventID = ReceivedBody.randomID)
        throws(BodyProblem)
    {
        self.now = now
        self.makeID = makeID
        let parts = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
            .filter { !$0.element.allSatisfy(\.isJSONSpace) }
        let first = parts.first?.element.filter { !$0.isJSONSpace } ?? []
        if first.first == UInt8(ascii: "{"), first.last == UInt8(ascii: "}") {
            for (index, part) in parts { try add(part, "line \(index + 1)") }
        } else if !first.isEmpty {
            try addAll(of: ReceivedBody.value(of: bytes, "the body"), "the body")
        }
        if events.isEmpty { throw BodyProblem("the body has no event") }
    }

    private mutating func add(_ line: ArraySlice<UInt8>, _ place: String) throws(BodyProblem) {
        if let line = EventLine(collected: line) {
            do throws(SluiceError) {
                return events.append((line, try line.event()))
            } catch {
                throw BodyProblem("\(place) is no event: \(error.message)")
            }
        }
        try addAll(of: ReceivedBody.value(of: line, place), place)
    }

    private mutating func addAll(of value: PropertyValue, _ place: String) throws(BodyProblem) {
        if case .object(let object) = value, let batch = object["batch"] { return try addElements(of: batch) }
        if case .array = value { return try addElements(of: value) }
        try add(value, place)
    }

    private mutating func addElements(of value: PropertyValue) throws(BodyProblem) {
        guard case .array(let elements) = value else { throw BodyProblem("\"batch\" is no array") }
        for (index, element) in elements.enumerated() { try add(element, "element \(index + 1)") }
    }

    private static func value(of bytes: some Collection<UInt8>, _ place: String) throws(BodyProblem) -> PropertyValue {
        do throws(SluiceError) {
            return try PropertyValue(json: bytes)
        } catch {
            throw BodyProblem("\(place) is \(error.message)")
        }
    }

    private mutating func add(_ value: PropertyValue, _ place: String) throws(BodyProblem) {
        guard case .object(var members) = value else { throw BodyProblem("\(place) is no event: it isn't an object") }
        guard let name = members.take(["event", "name", "type"], ofText: \.self) else {
            throw BodyProblem("\(place) is no event: it has no \"event\"")
        }
        let id = members.take(["id", "messageId", "uuid"]) { EventID($0) } ?? makeID()
        let priority: Event.Priority =
            members.take(["priority"]) { $0 == "critical" ? true : nil } == true ? .critical : .normal
        let time = members.takeTime() ?? now
        let ids = [["distinct_id", "userId"], ["anonymous_id", "anonymousId"], ["login_id"]].map {
            members.take($0, ofText: \.self)
        }
        var properties = Properties()
        for key in ["properties", "traits"] {
            guard case .object(let object)? = members[key] else { continue }
            for property in object { properties[property.name] = property.value }
            members[key] = nil
        }
        for member in members where properties[member.name] == nil { properties[member.name] = member.value }
        var event = Event(id: id, name: name, time: time, priority: priority, properties: properties)
        (event.distinctID, event.anonymousID, event.loginID) = (ids[0], ids[1], ids[2])
        do throws(SluiceError) {
            events.append((try EventLine(event), event))
        } catch {
            throw BodyProblem("\(place) is no event: \(error.message)")
        }
    }

    private static func randomID() -> EventID {
        var system = SystemRandomNumberGenerator()
        return EventID(high: system.next() & ~0xF000 | 0x4000, low: system.next() >> 2 | 0b10 << 62)
    }
}

extension Properties {
    /// Removes the first of these members that is a text, not an empty one, and can be converted.
    fileprivate mutating func take<Value>(_ names: [String], ofText convert: (String) -> Value?) -> Value? {
        for name in names {
            guard case .string(let text)? = self[name], !text.isEmpty, let value = convert(text) else { continue }
            self[name] = nil
            return value
        }
        return nil
    }

    /// Removes the first of the members with a time that is one.
    fileprivate mutating func takeTime() -> Timestamp? {
        for name in ["time", "timestamp", "originalTimestamp"] {
            guard let time = self[name].flatMap(Timestamp.init(sent:)) else { continue }
            self[name] = nil
            return time
        }
        return nil
    }
}

extension UInt8 {
    fileprivate var isJSONSpace: Bool { [0x20, 0x09, 0x0A, 0x0D].contains(self) }
}
