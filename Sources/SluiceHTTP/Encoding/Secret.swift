/// A key, a token or a password: it goes into requests, and never into anything that is printed, not even by `dump`.
struct Secret: Sendable, Hashable {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "(secret)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPRequest {
    mutating func setBasicAuthorization(user: String, password: String) {
        setHeader("Authorization", "Basic " + "\(user):\(password)".base64)
    }
}
