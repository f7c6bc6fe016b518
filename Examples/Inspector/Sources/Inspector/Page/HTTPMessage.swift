import Foundation

/// A request of HTTP/1.1 that was read as a whole.
struct HTTPRequest: Sendable {
    let method: String
    /// The path, as it was sent.
    let path: String
    let query: [String: String]
    /// The names are in lower case.
    let headers: [String: String]
    var body: [UInt8] = []

    /// Reads the request line and the headers.
    ///
    /// A header that is sent twice is refused. Otherwise two programs could read different values.
    ///
    /// - Parameter head: Everything before the empty line.
    init(head: [UInt8]) throws(HTTPProblem) {
        guard let text = String(validating: head, as: UTF8.self) else { throw .malformed }
        let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)
        let parts = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].hasPrefix("/"), parts[2] == "HTTP/1.1" || parts[2] == "HTTP/1.0" else {
            throw .malformed
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw .malformed }
            let name = line[..<colon].lowercased()
            guard !name.isEmpty, !name.contains(where: \.isWhitespace), headers[name] == nil else { throw .malformed }
            headers[name] = line[line.index(after: colon)...].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        }
        let target = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        method = String(parts[0])
        path = String(target[0])
        query = HTTPRequest.query(target.count > 1 ? target[1] : "")
        self.headers = headers
    }

    /// The length of the body.
    func bodyLength(atMost limit: Int) throws(HTTPProblem) -> Int {
        guard headers["transfer-encoding"] == nil else { throw .malformed }
        guard let text = headers["content-length"] else { return 0 }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { throw .malformed }
        guard let length = Int(text), length <= limit else { throw .tooLarge }
        return length
    }

    private static func query(_ text: Substring) -> [String: String] {
        let pairs = text.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count > 1 ? parts[1].removingPercentEncoding ?? "" : "")
        }
        return Dictionary(pairs) { first, _ in first }
    }
}

/// A request that isn't answered by a page. The text is its response.
enum HTTPProblem: String, Error {
    case malformed = "the request isn't HTTP/1.1 as browsers send it: a body needs a Content-Length"
    case headTooLarge = "the headers are too large"
    case tooLarge = "the body is too large"
    case tooSlow = "the request didn't arrive in time"

    var status: Int {
        switch self {
        case .malformed: 400
        case .tooSlow: 408
        case .tooLarge: 413
        case .headTooLarge: 431
        }
    }
}

/// A response. The connection ends with it, so a body needs no length.
struct HTTPResponse: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case stream(AsyncStream<[UInt8]>)
    }

    var status = 200
    /// The values must not contain a newline.
    var headers: [String: String] = [:]
    var body: Body

    /// A message for people.
    static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: ["Content-Type": "text/plain; charset=utf-8"], body: .bytes(Array(text.utf8)))
    }

    /// The status line and the headers.
    var head: [UInt8] {
        var lines = ["HTTP/1.1 \(status) ", "Connection: close"]
        if case .bytes(let bytes) = body { lines.append("Content-Length: \(bytes.count)") }
        lines += headers.sorted { $0.key < $1.key }.map { "\($0): \($1)" }
        return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }
}
