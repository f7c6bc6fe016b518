import Foundation
import Sluice

/// A line of an access log, with its fields as the server wrote them:
/// `client ident user [time] "method path protocol" status bytes "referrer" "agent"`.
///
/// These are the formats that servers are packaged with: `combined`, `common`, which ends after the bytes, `vhost_combined`,
/// which begins with the host, and formats with further fields at the end, such as `main` of nginx with its
/// `"$http_x_forwarded_for"`, or `rt=$request_time uct="$upstream_connect_time"`. The client can be the list of
/// `$http_x_forwarded_for`.
struct Request {
    /// The first one of a list.
    let client: String
    let time: Timestamp
    let properties: Properties

    /// Returns nil if the line has another format. The last quote may be missing, since servers truncate long lines.
    init?(_ line: [UInt8]) {
        // The name of a user can have blanks and brackets. Servers escape the quotes in it.
        guard let end = line.firstRange(of: Array("] \"".utf8)),
            let start = line[..<end.lowerBound].lastIndex(of: UInt8(ascii: "[")), start > 0,
            line[start - 1] == UInt8(ascii: " "),
            let time = Timestamp(logTime: text(line[(start + 1)..<end.lowerBound]))
        else { return nil }
        var words = Request.words(text(line[..<(start - 1)]))
        // Further words are a host in front of the client, whose identity is then `-`.
        let host = words.count > 3 && words[1] != "-" ? words.removeFirst() : nil
        var rest = line[(end.upperBound - 1)...]
        guard words.count >= 3, host == nil || words[1] == "-", let request = rest.field("\"", "\""),
            let status = rest.field().flatMap({ Int64(text($0)) }),
            let bytes = rest.field().flatMap({ text($0) == "-" ? 0 : Int64(text($0)) })
        else { return nil }
        self.client = String(words[0].prefix { $0 != "," })
        self.time = time
        let parts = request.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        var properties: Properties = ["method": .string(text(parts[0])), "status": .int(status), "bytes": .int(bytes)]
        if !rest.isEmpty {
            guard let referrer = rest.field("\"", "\""), let agent = rest.field("\"", "\"") else { return nil }
            properties["referrer"] = .string(text(referrer))
            properties["user_agent"] = .string(text(agent))
        }
        if parts.count > 1 { properties["path"] = .string(text(parts[1])) }
        if parts.count > 2 { properties["protocol"] = .string(text(parts[2])) }
        let user = words[2...].joined(separator: " ")
        if user != "-" { properties["user"] = .string(user) }
        if let host { properties["host"] = .string(host) }
        if words[0] != client { properties["forwarded_for"] = .string(words[0]) }
        let isQuoted = rest.first == UInt8(ascii: "\"")
        guard let more = rest.fields() else { return nil }
        if isQuoted, more.count == 1, Request.isClient(more[0]) {
            if more[0] != "-" { properties["forwarded_for"] = .string(more[0]) }
        } else if !more.isEmpty {
            properties["more"] = .array(more.map { .string($0) })
        }
        self.properties = properties
    }

    /// The words of a text. A word that ends with a comma continues: `198.51.100.4, 10.0.0.1` is one list.
    private static func words(_ text: String) -> [String] {
        text.split(separator: " ", omittingEmptySubsequences: false).reduce(into: []) { words, word in
            if let last = words.last, last.hasSuffix(",") {
                words[words.count - 1] = "\(last) \(word)"
            } else {
                words.append(String(word))
            }
        }
    }

    /// Whether a text is `-` or a list of IP addresses.
    private static func isClient(_ text: String) -> Bool {
        var address = in6_addr()
        return text == "-"
            || text.components(separatedBy: ", ").allSatisfy {
                inet_pton(AF_INET, $0, &address) == 1 || inet_pton(AF_INET6, $0, &address) == 1
            }
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

    /// The rest as words and as texts in quotes or brackets, also after `name=`. Nil if a quote isn't at the end of a
    /// field.
    fileprivate mutating func fields() -> [String]? {
        let quote = UInt8(ascii: "\"")
        var fields: [String] = []
        while !isEmpty {
            var name = prefix { $0 != UInt8(ascii: " ") && $0 != quote }
            if name.last != UInt8(ascii: "=") || dropFirst(name.count).first != quote { name = [] }
            removeFirst(name.count)
            let start = first
            let field: ArraySlice? =
                switch start {
                case quote: field("\"", "\"")
                case UInt8(ascii: "["): field("[", "]")
                default: self.field()
                }
            guard let field, start == quote || !field.contains(quote) else { return nil }
            fields.append(text(name) + text(field))
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
