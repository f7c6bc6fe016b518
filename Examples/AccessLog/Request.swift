import Foundation
import Sluice

/// A line of an access log in the combined format, with its fields as the server wrote them:
/// `client ident user [time] "method path protocol" status bytes "referrer" "agent"`.
struct Request {
    let client: String
    let time: Timestamp
    let properties: Properties

    /// Returns nil if the line has another format. The last quote may be missing, since servers truncate long lines.
    init?(_ line: [UInt8]) {
        var rest = line[...]
        guard let client = rest.field(), rest.field() != nil, let user = rest.field(), let time = rest.field("[", "]"),
            let request = rest.field("\"", "\""), let status = rest.field().flatMap({ Int64(text($0)) }),
            let bytes = rest.field().flatMap({ text($0) == "-" ? 0 : Int64(text($0)) }),
            let referrer = rest.field("\"", "\""), let agent = rest.field("\"", "\""),
            rest.isEmpty, let timestamp = Timestamp(logTime: text(time))
        else { return nil }
        self.client = text(client)
        self.time = timestamp
        let words = request.split(separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
        var properties = Properties([
            "method": text(words[0]), "status": status, "bytes": bytes, "referrer": text(referrer),
            "user_agent": text(agent),
        ])
        if words.count > 1 { properties["path"] = text(words[1]) }
        if words.count > 2 { properties["protocol"] = text(words[2]) }
        if text(user) != "-" { properties["user"] = text(user) }
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
        if !isEmpty, self[startIndex] == UInt8(ascii: " ") { removeFirst() }
        return field
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
