import Foundation
package import Sluice

/// A line of a file in `rejected/`: `{"reason":…,"at":…,"refusals":…,"event":{…}}`. It has no checksum.
package struct DeadLetterLine {
    package let reason: String
    package let date: Timestamp
    /// The rejected event. Nil if the store encrypts its lines.
    package let event: EventLine?

    private struct Header: Decodable {
        let reason: String
        let at: Int64
    }

    private static let eventKey = Array(#","event":"#.utf8)

    /// - Throws: The flaw of a damaged line.
    init(_ line: Line) throws(Flaw) {
        if line.isCut { throw .tooLong }
        let bytes = line.bytes
        // A quote within the reason is escaped, so the first key is the right one.
        guard bytes.last == UInt8(ascii: "}"), let key = bytes.firstRange(of: DeadLetterLine.eventKey) else {
            throw .noDeadLetter
        }
        let header: Header
        do {
            header = try JSONDecoder().decode(Header.self, from: Data(bytes[..<key.lowerBound] + [UInt8(ascii: "}")]))
        } catch {
            throw .noDeadLetter
        }
        reason = header.reason
        date = Timestamp(milliseconds: header.at)
        let event = bytes[key.upperBound...].dropLast()
        guard event.first == UInt8(ascii: "{"), event.last == UInt8(ascii: "}") else { throw .noDeadLetter }
        let isEncrypted = event.starts(with: #"{"sealed":""#.utf8)
        self.event =
            isEncrypted ? nil : EventLine(bytes: Array(event)[...], priority: DeadLetterLine.priority(of: event))
    }

    /// The canonical line has the priority before the properties.
    private static func priority(of event: ArraySlice<UInt8>) -> Event.Priority {
        guard let priority = event.firstRange(of: Array(#","priority":"critical""#.utf8)),
            let properties = event.firstRange(of: Array(#","properties":"#.utf8))
        else { return .normal }
        return priority.lowerBound < properties.lowerBound ? .critical : .normal
    }
}
