package import Sluice

/// The parts of an event that searches and counts need, read from its line.
///
/// Decoding the whole event takes several times as long, and a search reads 100,000 lines.
package struct EventFields: Sendable {
    package private(set) var name = ""
    package private(set) var id = ""
    package private(set) var time = Timestamp(milliseconds: 0)
    package private(set) var distinctID: String?
    package private(set) var anonymousID: String?
    package private(set) var loginID: String?
    /// The property `$session_id`, or `session_id`.
    package private(set) var session: String?
    /// The name, the id and each value. A property is `name=value`, and one in an object `object.name=value`. Empty unless
    /// it was asked for.
    package private(set) var lines: [String] = []

    /// Returns nil if the line is no JSON, or has no name or time.
    package init?(_ line: ArraySlice<UInt8>, withLines: Bool) {
        var scanner = JSONScanner(line)
        var hasTime = false
        guard
            scanner.readObject({ scanner, key in
                switch key {
                case "event": name = scanner.readText()
                case "id": id = scanner.readText()
                case "time":
                    let milliseconds = Int64(scanner.readText())
                    hasTime = milliseconds != nil
                    time = Timestamp(milliseconds: milliseconds ?? 0)
                case "distinct_id": distinctID = scanner.readText()
                case "anonymous_id": anonymousID = scanner.readText()
                case "login_id": loginID = scanner.readText()
                case "properties": readProperties(&scanner, withLines)
                default: if withLines { addLines(&scanner, key) } else { scanner.skipValue() }
                }
            }), hasTime, !name.isEmpty
        else { return nil }
        guard withLines else { return }
        lines += [name, id, "event=\(name)", "id=\(id)", "time=\(time)"]
        for (name, id) in [("distinct_id", distinctID), ("anonymous_id", anonymousID), ("login_id", loginID)] {
            if let id { lines.append("\(name)=\(id)") }
        }
    }

    /// The ids that the event has.
    package var users: [String] { [distinctID, loginID, anonymousID].compactMap(\.self) }

    /// The id that counts as the user.
    package var user: String? { distinctID ?? loginID ?? anonymousID }

    private mutating func readProperties(_ scanner: inout JSONScanner, _ withLines: Bool) {
        _ = scanner.readObject { scanner, key in
            if key == "$session_id" || (key == "session_id" && session == nil), scanner.isText {
                let text = scanner.readText()
                session = text
                if withLines { lines.append("\(key)=\(text)") }
            } else if withLines {
                addLines(&scanner, key)
            } else {
                scanner.skipValue()
            }
        }
    }

    private mutating func addLines(_ scanner: inout JSONScanner, _ path: String) {
        if scanner.isObject {
            _ = scanner.readObject { scanner, key in addLines(&scanner, "\(path).\(key)") }
        } else if scanner.isArray {
            var index = 0
            _ = scanner.readArray { scanner in
                addLines(&scanner, "\(path).\(index)")
                index += 1
            }
        } else {
            lines.append("\(path)=\(scanner.readText())")
        }
    }
}

/// Reads JSON from its beginning to its end. It trusts that the JSON is well-formed where that has no bad effect: a damaged
/// line is found by its checksum.
struct JSONScanner {
    private let bytes: ArraySlice<UInt8>
    private var index: Int
    /// Bounds the stack.
    private var depth = 0

    private static let deepest = 128

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    private var next: UInt8 { index < bytes.endIndex ? bytes[index] : 0 }

    var isObject: Bool { next == UInt8(ascii: "{") }
    var isArray: Bool { next == UInt8(ascii: "[") }
    var isText: Bool { next == UInt8(ascii: "\"") }

    /// Calls `body` at the value of each member. It must read or skip the value.
    ///
    /// - Returns: Whether there was a whole object.
    mutating func readObject(_ body: (inout JSONScanner, _ key: String) -> Void) -> Bool {
        readElements("{", "}") { scanner in
            let key = scanner.readText()
            scanner.skipSpaces()
            guard scanner.next == UInt8(ascii: ":") else { return false }
            scanner.index += 1
            scanner.skipSpaces()
            body(&scanner, key)
            return true
        }
    }

    /// Calls `body` at each element. It must read or skip the element.
    mutating func readArray(_ body: (inout JSONScanner) -> Void) -> Bool {
        readElements("[", "]") { scanner in
            body(&scanner)
            return true
        }
    }

    private mutating func readElements(
        _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, _ body: (inout JSONScanner) -> Bool
    ) -> Bool {
        skipSpaces()
        guard next == UInt8(ascii: opening), depth < JSONScanner.deepest else {
            index = bytes.endIndex
            return false
        }
        depth += 1
        defer { depth -= 1 }
        index += 1
        while index < bytes.endIndex {
            skipSpaces()
            if next == UInt8(ascii: closing) {
                index += 1
                return true
            }
            if next == UInt8(ascii: ",") {
                index += 1
                continue
            }
            let start = index
            guard body(&self), index > start else { break }
        }
        index = bytes.endIndex
        return false
    }

    mutating func skipValue() {
        skipSpaces()
        switch next {
        case UInt8(ascii: "{"): _ = readObject { scanner, _ in scanner.skipValue() }
        case UInt8(ascii: "["): _ = readArray { $0.skipValue() }
        case UInt8(ascii: "\""): _ = readString()
        default: _ = readNumber()
        }
    }

    /// The text of a string, or a number or another value as it is written.
    mutating func readText() -> String {
        skipSpaces()
        guard isText else { return String(decoding: readNumber(), as: UTF8.self) }
        let (text, isEscaped) = readString()
        return isEscaped ? JSONScanner.unescaped(text) : String(decoding: text, as: UTF8.self)
    }

    private mutating func skipSpaces() {
        while [0x20, 0x09, 0x0D].contains(next) { index += 1 }
    }

    private mutating func readNumber() -> ArraySlice<UInt8> {
        let start = index
        while index < bytes.endIndex, ![UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]")].contains(bytes[index])
        {
            index += 1
        }
        return bytes[start..<index]
    }

    private mutating func readString() -> (text: ArraySlice<UInt8>, isEscaped: Bool) {
        index += 1
        let start = index
        var isEscaped = false
        while index < bytes.endIndex, bytes[index] != UInt8(ascii: "\"") {
            if bytes[index] == UInt8(ascii: "\\") {
                isEscaped = true
                index += 1
            }
            index += 1
        }
        let end = min(index, bytes.endIndex)
        index = min(end + 1, bytes.endIndex)
        return (bytes[start..<end], isEscaped)
    }

    private static func unescaped(_ text: ArraySlice<UInt8>) -> String {
        var units: [UInt16] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                let end = rest.firstIndex(of: UInt8(ascii: "\\")) ?? rest.endIndex
                units += String(decoding: [byte] + rest[..<end], as: UTF8.self).utf16
                rest = rest[end...]
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "u")?:
                units.append(UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) ?? 0xFFFD)
                rest = rest.dropFirst(4)
            case UInt8(ascii: "n")?: units.append(0x0A)
            case UInt8(ascii: "t")?: units.append(0x09)
            case UInt8(ascii: "r")?: units.append(0x0D)
            case UInt8(ascii: "b")?: units.append(0x08)
            case UInt8(ascii: "f")?: units.append(0x0C)
            case let character?: units.append(UInt16(character))
            case nil: break
            }
        }
        return String(decoding: units, as: UTF16.self)
    }
}
