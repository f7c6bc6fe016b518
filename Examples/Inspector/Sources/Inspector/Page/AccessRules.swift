/// Decides which requests may see the page or replay.
///
/// A page of another site can send requests to this machine, or have its own name resolve to it. It doesn't know the
/// token, and it can't change the headers `Host` and `Origin`.
struct AccessRules: Sendable {
    let token: String

    /// The parts of a request that matter.
    struct Request {
        var isPost = false
        /// The header `Host`.
        var host: String?
        /// The header `Origin`, which browsers send with each POST and each request of another origin.
        var origin: String?
        /// The parameter `token` of the URL.
        var token: String?
    }

    /// Creates rules with a new token of 128 random bits.
    static func random() -> AccessRules {
        var system = SystemRandomNumberGenerator()
        let digits = (0..<4).map { _ in
            let text = String(UInt32.random(in: 0 ... .max, using: &system), radix: 16)
            return String(repeating: "0", count: 8 - text.count) + text
        }
        return AccessRules(token: digits.joined())
    }

    /// The reason for a refusal, as its response states it.
    enum Refusal: String {
        case wrongHost = "this name doesn't belong to the inspector"
        case wrongToken = "the token is wrong"
        case otherOrigin = "the request comes from another page"
        case noOrigin = "the request has no origin"
    }

    /// Returns the reason to refuse a request, or nil to allow it.
    func refusal(of request: Request, port: Int) -> Refusal? {
        let hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
        guard let host = request.host.map({ withPort($0, port) }), hosts.contains(host) else { return .wrongHost }
        guard let token = request.token, isEqual(token, self.token) else { return .wrongToken }
        if let origin = request.origin {
            guard withPort(origin, port) == "http://\(host)" else { return .otherOrigin }
        } else if request.isPost {
            return .noOrigin
        }
        return nil
    }

    /// Adds the port 80, which browsers leave out.
    private func withPort(_ name: String, _ port: Int) -> String {
        port != 80 || name.hasSuffix(":80") ? name : name + ":80"
    }

    /// Compares in constant time: every wrong token of the right length takes equally long.
    private func isEqual(_ left: String, _ right: String) -> Bool {
        var difference: UInt8 = 0
        // A statement for each operator, because `|` and `^` have the same precedence in Swift, unlike in C.
        for (leftByte, rightByte) in zip(left.utf8, right.utf8) { difference |= leftByte ^ rightByte }
        return difference == 0 && left.utf8.count == right.utf8.count
    }
}
