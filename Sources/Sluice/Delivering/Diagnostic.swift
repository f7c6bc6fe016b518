/// A message for the host's log. It never contains secrets or the contents of events.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a diagnostic.
    public enum Kind: String, Sendable, Hashable {
        /// Events were lost.
        case dropped
        /// A send attempt failed and will be repeated.
        case retrying
        /// The receiver refused a request because of its size or of some of its events. Smaller parts follow.
        case splitting
        /// Delivery is on hold until a probe succeeds.
        case held
        /// Events became dead letters.
        case rejected
        /// Dead letters were put back, because the receiver has recovered.
        case replayed
        /// A store failed.
        case store
        /// A plugin failed.
        case plugin
        /// A ``TrackedEvent`` could not be encoded, and was stored without its properties.
        case encoding
        /// Information without consequence for events.
        case note
    }

    /// How urgent a diagnostic is.
    public enum Severity: Int, Sendable, Hashable, Comparable {
        /// Nothing to do.
        case info
        /// Delivery is delayed, and goes on without your help. Look into it if it doesn't end.
        case warning
        /// Events or properties are lost, or delivery needs your help.
        case error

        /// Returns whether `left` is less urgent than `right`.
        public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    /// The kind of the message.
    public let kind: Kind
    /// The name of the route; empty for the pipeline as a whole.
    public let route: String
    /// The message, for people.
    public let message: String

    /// Creates a diagnostic.
    public init(kind: Kind, route: String, message: String) {
        self.kind = kind
        self.route = route
        self.message = message
    }

    /// How urgent the message is. It follows from the kind.
    public var severity: Severity {
        switch kind {
        case .replayed, .note: .info
        case .retrying, .splitting: .warning
        case .dropped, .held, .rejected, .store, .plugin, .encoding: .error
        }
    }

    /// The kind, the route and the message.
    public var description: String {
        route.isEmpty ? "\(kind.rawValue): \(message)" : "\(kind.rawValue) [\(route)]: \(message)"
    }
}
