package import Sluice

/// The reason why a line can't be used.
package enum Flaw: String, Error {
    case noChecksum = "it has no checksum at its end"
    case wrongChecksum = "its checksum is that of another line"
    case torn = "it has no newline: the process ended while it wrote the line"
    case tooLong = "it is longer than 16 MiB, and was not checked"
    case noEvent = "it is no event"
    case noDeadLetter = "it is not a dead letter"
}

extension EventLine {
    /// Returns nil if a line is no event as the format `.ndjson` sends it.
    package init?(collected bytes: ArraySlice<UInt8>) {
        guard let header = EventHeader(bytes), bytes.last == UInt8(ascii: "}") else { return nil }
        // The priority comes before the properties, behind the name and the time.
        let rest = bytes[header.end...]
        let isCritical = rest.starts(with: #","priority":"critical""#.utf8)
        self.init(bytes: Array(bytes)[...], priority: isCritical ? .critical : .normal)
    }
}

extension Line {
    /// Whether it is an erased event, or one that was delivered while the rest of its batch was not. The latter has the key
    /// `xrc` in place of `crc`.
    var hasNothing: Bool {
        bytes.isEmpty || !isCut && bytes.suffix(StoredLine.suffixLength).starts(with: #","xrc":""#.utf8)
    }
}

/// A line of a file: an event or a dead letter, with `,"crc":"1a2b3c4d"` before its last brace.
///
/// The checksum is the CRC-32C of the line without it, in eight hexadecimal digits in lower case. In a reused file, it is
/// combined with the segment's number.
package struct StoredLine {
    /// The line without its checksum and its last brace.
    let opening: ArraySlice<UInt8>

    fileprivate static let suffixLength = 18
    private static let sealed = Array(#"{"sealed":""#.utf8)

    /// - Throws: The flaw of a damaged line.
    init(_ line: Line, seed: UInt32 = 0) throws(Flaw) {
        if line.isCut { throw .tooLong }
        let bytes = line.bytes
        let comma = bytes.endIndex - StoredLine.suffixLength
        guard comma > bytes.startIndex, bytes[bytes.startIndex] == UInt8(ascii: "{"),
            bytes[comma...].starts(with: #","crc":""#.utf8), bytes[(comma + 16)...].elementsEqual(#""}"#.utf8)
        else { throw .noChecksum }
        var expected: UInt32 = 0
        for digit in bytes[(comma + 8)..<(comma + 16)] {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): expected = expected << 4 | UInt32(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                expected = expected << 4 | UInt32(digit - UInt8(ascii: "a") + 10)
            default: throw .noChecksum
            }
        }
        opening = bytes[..<comma]
        guard CRC32C.checksum(of: opening, then: UInt8(ascii: "}")) == expected ^ seed else { throw .wrongChecksum }
    }

    /// Whether the store encrypts its lines. Only the host can read them.
    package var isEncrypted: Bool { opening.starts(with: StoredLine.sealed) }

    /// The event's line as the host made it.
    package func eventLine(_ priority: Event.Priority) -> EventLine {
        EventLine(bytes: (opening + [UInt8(ascii: "}")])[...], priority: priority)
    }
}

/// The name and the time of an event, read without the rest of its line.
struct EventHeader {
    /// The name in JSON, without its quotes.
    let name: ArraySlice<UInt8>
    let time: Timestamp
    /// The place behind the time.
    let end: Int

    private static let beforeName = #"{"id":"00000000-0000-0000-0000-000000000000","event":""#.utf8.count

    /// Returns nil if this isn't the beginning of a canonical line: `{"id":"…","event":"…","time":…,`. No event has an empty name.
    init?(_ line: ArraySlice<UInt8>) {
        let start = line.startIndex + EventHeader.beforeName
        guard line.count > EventHeader.beforeName, line.starts(with: #"{"id":""#.utf8),
            line[(start - 11)..<start].elementsEqual(#"","event":""#.utf8)
        else { return nil }
        var end = start
        while end < line.endIndex, line[end] != UInt8(ascii: "\"") {
            end += line[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end > start, end < line.endIndex, line[end...].starts(with: #"","time":"#.utf8) else { return nil }
        let digits = line[(end + 9)...].prefix { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }
        guard let milliseconds = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
        name = line[start..<end]
        self.end = digits.endIndex
        time = Timestamp(milliseconds: milliseconds)
    }
}

extension Segment {
    /// Returns the header of an event's line, or nil if only the host can read it.
    ///
    /// - Throws: The flaw of a damaged line.
    func header(_ line: Line) throws(Flaw) -> EventHeader? {
        guard isCollected else {
            let stored = try StoredLine(line, seed: seed)
            return stored.isEncrypted ? nil : EventHeader(stored.opening)
        }
        if line.isCut { throw .tooLong }
        guard let header = EventHeader(line.bytes) else { throw .noEvent }
        return header
    }
}
