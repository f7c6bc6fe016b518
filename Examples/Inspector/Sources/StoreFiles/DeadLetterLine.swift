import Foundation
package import Sluice

/// A dead letter in a file: `{"id":…,"reason":…,"at":…,"refusals":…,"status":…,"response":…,"event":{…},"crc":…}`. See
/// ``StoredLine``. Other keys are ignored.
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

    private static let eventKey = Array(#""event":"#.utf8)

    /// Returns nil if the store encrypts its lines. Only the host can read them.
    ///
    /// - Throws: The flaw of a damaged line.
    init?(_ line: Line) throws(Flaw) {
        let stored = try StoredLine(line)
        if stored.isEncrypted { return nil }
        guard let event = DeadLetterLine.event(in: stored.opening) else { throw .noDeadLetter }
        let header: Header
        do {
            header = try JSONDecoder().decode(
                Header.self, from: Data(stored.opening[..<event.keyStart].dropLast() + [UInt8(ascii: "}")]))
        } catch {
            throw .noDeadLetter
        }
        (reason, status, response) = (header.reason, header.status, header.response)
        date = Timestamp(milliseconds: header.at)
        let bytes = Array(event.object)[...]
        self.event = EventLine(bytes: bytes, priority: DeadLetterLine.priority(of: bytes))
    }

    /// Finds the key `event` of the outermost object, and its value. Returns nil if it has none, or if it is no object.
    private static func event(in line: ArraySlice<UInt8>) -> (keyStart: Int, object: ArraySlice<UInt8>)? {
        var depth = 0
        var keyStart: Int?
        var index = line.startIndex
        while index < line.endIndex {
            switch line[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                guard depth == 1, let keyStart else { break }
                let object = line[(keyStart + eventKey.count)...index]
                return object.first == UInt8(ascii: "{") ? (keyStart, object) : nil
            case UInt8(ascii: "\""):
                if depth == 1, keyStart == nil, line[index...].starts(with: eventKey) { keyStart = index }
                index += 1
                while index < line.endIndex, line[index] != UInt8(ascii: "\"") {
                    index += line[index] == UInt8(ascii: "\\") ? 2 : 1
                }
            default: break
            }
            index += 1
        }
        return nil
    }

    /// The canonical line has the priority before the properties.
    private static func priority(of event: ArraySlice<UInt8>) -> Event.Priority {
        guard let priority = event.firstRange(of: Array(#","priority":"critical""#.utf8)),
            let properties = event.firstRange(of: Array(#","properties":"#.utf8))
        else { return .normal }
        return priority.lowerBound < properties.lowerBound ? .critical : .normal
    }
}
