import Foundation
import Sluice

/// A line of an access log, with its fields as the server wrote them:
/// `client ident user [time] "method path protocol" status bytes "referrer" "agent"`.
///
/// These are the formats that servers are packaged with: `combined`, `common`, which ends after the bytes, `vhost_combined`,
/// which begins with the host, and formats with further fields at the end, such as `main` of nginx with its
/// `"$http_x_forwarded_for"`.
struct Request {
    let client: String
    let time: Timestamp
    let properties: Properties

    /// Returns nil if the line has another format. The last quote may be missing, since servers truncate long lines.
    init?(_ line: [UInt8]) {
        var rest = line[...]
        var words: [ArraySlice<UInt8>] = []
        while !rest.isEmpty, rest.first != UInt8(ascii: "["), let word = rest.field() { words.append(word) }
        // The name of a user can have blanks. Further words are a host in front of the client, whose identity is then `-`.
        let hasHost = words.count > 3 && text(words[1]) != "-"
        guard words.count >= 3, !hasHost || text(words[2]) == "-", let time = rest.field("[", "]"),
            let timestamp = Timestamp(logTime: text(time)),
            let request = rest.field("\"", "\""), let status = rest.field().flatMap({ Int64(text($0)) }),
            let bytes = rest.field().flatMap({ text($0) == "-" ? 0 : Int64(text($0)) })
        else { return nil }
        let host = hasHost ? words.removeFirst() : nil
        self.client = text(words[0])
        self.time = timestamp
        let parts = request.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        var properties: Properties = ["method": .string(text(parts[0])), "status": .int(status), "bytes": .int(bytes)]
        if !rest.isEmpty {
            guard let referrer = rest.field("\"", "\""), let agent = rest.field("\"", "\"") else { return nil }
            properties["referrer"] = .string(text(referrer))
            properties["user_agent"] = .string(text(agent))
        }
        if parts.count > 1 { properties["path"] = .string(text(parts[1])) }
        if parts.count > 2 { properties["protocol"] = .string(text(parts[2])) }
        let user = text(Array(words[2...].joined(separator: " ".utf8)))
        if user != "-" { properties["user"] = .string(user) }
        if let host { properties["host"] = .string(text(host)) }
        let isForwarded = rest.first == UInt8(ascii: "\"")
        guard let more = rest.fields() else { return nil }
        if isForwarded, more.count == 1 {
            if more[0] != "-" { properties["forwarded_for"] = .string(more[0]) }
        } else if !more.isEmpty {
            properties["more"] = .array(more.map { .string($0) })
        }
        self.properties = properties
    }
}

extension ArraySlice<UInt8> {
    /// Removes the next field and the space after it: a word, or the text between `open` and an unescaped `close`.
    fileprivate mutating func field(_ open: Unicode.Scalar? = nil, _ close: Unicode.Scalar = " ") -> ArraySlice? {
        guard !isEmpty else { return nil }
        if let open, popFirst() != UInt8(ascii: open) { return nil }
        var end = startIndex
        while end < endIndex, self[end] != UInt8(ascii: close) {
            end += self[end] == UInt8(ascii: "\\") && open != nil ? 2 : 1
        }
        let field = self[startIndex..<Swift.min(end, endIndex)]
        self = dropFirst(field.count + (open == nil ? 0 : 1))
        if !isEmpty {
            // Only a space ends a field: an unescaped quote would end it too early.
            guard first == UInt8(ascii: " ") else { return nil }
            removeFirst()
        }
        return field
    }

    /// The rest as words and as texts in quotes or brackets. Nil if a quote isn't at the end of a field.
    fileprivate mutating func fields() -> [String]? {
        var fields: [String] = []
        while let first {
            let field: ArraySlice? =
                switch first {
                case UInt8(ascii: "\""): field("\"", "\"")
                case UInt8(ascii: "["): field("[", "]")
                default: self.field()
                }
            guard let field, first == UInt8(ascii: "\"") || !field.contains(UInt8(ascii: "\"")) else { return nil }
            fields.append(text(field))
        }
        return fields
    }
}

extension Timestamp {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Reads `17/May/2015:10:05:03 +0000`.
    init?(logTime: String) {
        let parts = logTime.split(whereSeparator: { "/: ".contains($0) }).map(String.init)
        guard parts.count == 7, let month = Timestamp.months.firstIndex(of: parts[1]),
            let zone = Timestamp.zoneMinutes(parts[6]),
            let utc = Timestamp(
                "\(parts[2])-\(month < 9 ? "0" : "")\(month + 1)-\(parts[0])T\(parts[3]):\(parts[4]):\(parts[5]).000Z")
        else { return nil }
        self.init(milliseconds: utc.milliseconds - zone * 60_000)
    }

    /// Reads `+0000` or `-0730`. Returns nil for anything else: no arithmetic on a number of any size.
    private static func zoneMinutes(_ text: String) -> Int64? {
        guard text.utf8.count == 5, text.hasPrefix("+") || text.hasPrefix("-"), let number = Int64(text),
            abs(number) < 2_400, abs(number) % 100 < 60
        else { return nil }
        return number / 100 * 60 + number % 100
    }
}

/// The bytes as text. In a field that isn't UTF-8, each byte beyond ASCII becomes `\xE4`, as servers write it.
func text(_ bytes: some Collection<UInt8>) -> String {
    String(bytes: bytes, encoding: .utf8)
        ?? bytes.map { $0 < 0x80 ? String(Unicode.Scalar($0)) : "\\x" + String($0, radix: 16, uppercase: true) }
        .joined()
}

/// The bytes of the next line without its end; nil at the end of `input`.
func readLine(of input: UnsafeMutablePointer<FILE>) -> [UInt8]? {
    var buffer: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(buffer) }
    let count = getline(&buffer, &capacity, input)
    guard count >= 0, let buffer else { return nil }
    var line = UnsafeRawBufferPointer(start: buffer, count: count).map(\.self)
    while let last = line.last, last == 0x0A || last == 0x0D { line.removeLast() }
    return line
}
