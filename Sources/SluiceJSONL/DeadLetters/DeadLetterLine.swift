internal import Sluice

/// The format of a dead letter: `{"id":…,"reason":…,"at":…,"status":…,"response":…,"event":{…}}`. An unknown status and response
/// are left out.
///
/// It is stored like an event: encrypted if events are, and with a checksum. Other keys are ignored.
enum DeadLetterLine {
    private static let eventKey = Array(#","event":"#.utf8)
    private static let criticalText = Array(#""critical""#.utf8)

    static func encoded(_ letter: DeadLetter) -> ArraySlice<UInt8> {
        var writer = JSONWriter(capacity: letter.line.bytes.count + 128)
        writer.object {
            $0["id"] = letter.id.digits
            $0["reason"] = letter.reason
            $0["at"] = PropertyValue.int(letter.date.milliseconds)
            $0["status"] = letter.status.map { .int($0) }
            $0["response"] = letter.response
            $0.raw(eventKey)
            $0.raw(letter.line.bytes)
        }
        return writer.bytes[...]
    }

    /// Returns nil if this isn't a dead letter.
    static func decoded(_ line: ArraySlice<UInt8>) -> DeadLetter? {
        guard let event = attempt(try line.member("event"), or: nil), LineFormat.canStore(event) else { return nil }
        let key = event.startIndex - eventKey.count
        let fields = attempt(try JSONReader.value(of: line[..<key] + [UInt8(ascii: "}")]), or: .null)
        guard case .object(let header) = fields, case .string(let digits) = header["id"],
            let id = DeadLetter.ID(digits, radix: 16), case .string(let reason) = header["reason"],
            case .int(let date) = header["at"]
        else { return nil }
        var status: Int?
        if case .int(let number) = header["status"] { status = Int(clamping: number) }
        return DeadLetter(
            id: id, line: EventLine(bytes: event, priority: priority(of: event)), reason: reason,
            date: Timestamp(milliseconds: date), status: status, response: header["response"]?.string)
    }

    private static func priority(of event: ArraySlice<UInt8>) -> Event.Priority {
        // An event that no receiver can read stays a dead letter.
        let priority = attempt(try event.member("priority", before: "properties"), or: nil)
        return priority?.elementsEqual(criticalText) == true ? .critical : .normal
    }
}

extension DeadLetter.ID {
    /// The id of a dead letter, made of its event and of the place where the event was stored.
    ///
    /// By it, a later process recognizes an event in a segment that has not been settled. Another event with the same
    /// bytes has another place, and therefore another id.
    init(_ event: ArraySlice<UInt8>, at place: LinePlace, in segment: SegmentName) {
        let name = Array("\(segment.text)@\(place.event.lowerBound)".utf8)
        self = UInt64(Checksum.of(event)) << 32 | UInt64(Checksum.of(name[...]))
    }
}
