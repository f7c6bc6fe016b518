/// One thing that a host's developer may want to see in a log. It never holds secrets or event contents.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: String, Sendable, Hashable {
        /// Events ended before delivery.
        case dropped
        /// A send failed and will be repeated.
        case retrying
        /// A batch, or an event in it, was too much for the receiver, which is sent parts of it.
        case splitting
        /// Delivery is on hold until a probe succeeds.
        case held
        /// Events were refused by the receiver for good.
        case rejected
        /// A store could not do something.
        case store
        /// A processor could not do something, such as keep what it is to remember.
        case plugin
        /// Something to know, without consequence for events.
        case note
    }

    public let kind: Kind
    /// The name of the route; empty for the pipeline as a whole.
    public let route: String
    public let message: String

    public init(kind: Kind, route: String, message: String) {
        self.kind = kind
        self.route = route
        self.message = message
    }

    public var description: String {
        route.isEmpty ? "\(kind.rawValue): \(message)" : "\(kind.rawValue) [\(route)]: \(message)"
    }
}
