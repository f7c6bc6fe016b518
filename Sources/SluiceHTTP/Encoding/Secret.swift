/// A key, a token or a password, for formats to keep: it goes into requests, and never into anything that is printed,
/// not even by `dump`.
public struct Secret: Sendable, Hashable {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "(secret)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }
}

extension HTTPRequest {
    mutating func setBasicAuthorization(user: String, password: String) {
        setHeader("Authorization", "Basic " + "\(user):\(password)".base64)
    }
}
