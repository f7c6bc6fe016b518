import Foundation
package import Sluice

/// A dead letter in a file: `{"id":…,"reason":…,"at":…,"refusals":…,"status":…,"response":…,"event":{…},"crc":…}`. See
/// ``StoredLine``.
package struct DeadLetterLine {
    package let reason: String
    package let date: Timestamp
    /// The receiver's status and words, if there were any.
    package let status: Int?
    package let response: String?
    package let event: EventLine

    private struct Header: Decodable {
        let reason: String
        let at: Int64
        let status: Int?
        let response: String?
    }

    private static let eventKey = Array(#","event":"#.utf8)

    /// Returns nil if the store encrypts its lines. Only the host can read them.
    ///
    /// - Throws: The flaw of a damaged line.
    init?(_ line: Line) throws(Flaw) {
        let stored = try StoredLine(line)
        if stored.isEncrypted { return nil }
        // A quote within the reason is escaped, so the first key is the right one.
        guard let key = stored.opening.firstRange(of: DeadLetterLine.eventKey) else { throw .noDeadLetter }
        let header: Header
        do {
            header = try JSONDecoder().decode(
                Header.self, from: Data(stored.opening[..<key.lowerBound] + [UInt8(ascii: "}")]))
        } catch {
            throw .noDeadLetter
        }
        (reason, status, response) = (header.reason, header.status, header.response)
        date = Timestamp(milliseconds: header.at)
        let event = Array(stored.opening[key.upperBound...])[...]
        guard event.first == UInt8(ascii: "{"), event.last == UInt8(ascii: "}") else { throw .noDeadLetter }
        self.event = EventLine(bytes: event, priority: DeadLetterLine.priority(of: event))
    }

    /// The canonical line has the priority before the properties.
    private static func priority(of event: ArraySlice<UInt8>) -> Event.Priority {
        guard let priority = event.firstRange(of: Array(#","priority":"critical""#.utf8)),
            let properties = event.firstRange(of: Array(#","properties":"#.utf8))
        else { return .normal }
        return priority.lowerBound < properties.lowerBound ? .critical : .normal
    }
}
