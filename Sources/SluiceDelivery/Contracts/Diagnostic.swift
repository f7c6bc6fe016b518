/// A message for the host's log. It never contains secrets, or the contents of events except their names.
///
/// ```swift
/// let pipeline = try Pipeline(onDiagnostic: { print("\($0.severity): \($0)") }) {
///     MemoryStore()
///     StdoutTransport()
/// }
/// ```
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a diagnostic. More kinds can be added in a minor version.
    public struct Kind: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let rawValue: String

        /// Creates a kind, such as one of your own store or plugin.
        ///
        /// ```swift
        /// extension Diagnostic.Kind {
        ///     nonisolated static let cache = Diagnostic.Kind(rawValue: "cache")
        /// }
        /// ```
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the kind.
        public var description: String { rawValue }

        /// Events were lost.
        public static let dropped = Kind(rawValue: "dropped")
        /// The receiver fails: it doesn't answer, or is in trouble. Delivery pauses, and goes on by itself.
        public static let retrying = Kind(rawValue: "retrying")
        /// Delivery pauses for a reason that may need your help: the receiver refuses everything, as with a wrong key or
        /// URL, or the network is unknown and the policy excludes metered ones.
        public static let paused = Kind(rawValue: "paused")
        /// The receiver accepts some events and not others. The events at fault are searched for. For each reason you get the
        /// 1st failure in a search, the 100th, the 10,000th and so on.
        public static let searching = Kind(rawValue: "searching")
        /// The receiver accepts events, after it failed.
        public static let resumed = Kind(rawValue: "resumed")
        /// Events became dead letters.
        public static let rejected = Kind(rawValue: "rejected")
        /// A store failed.
        public static let store = Kind(rawValue: "store")
        /// A plugin failed.
        public static let plugin = Kind(rawValue: "plugin")
        /// A part of a ``TrackedEvent`` could not be encoded, and was left out.
        public static let encoding = Kind(rawValue: "encoding")
        /// Information without consequence for events.
        public static let note = Kind(rawValue: "note")
    }

    /// How urgent a diagnostic is. You can compare severities:
    ///
    /// ```swift
    /// let logger = { @Sendable (diagnostic: Diagnostic) in
    ///     if diagnostic.severity >= .warning { print(diagnostic.message) }
    /// }
    /// ```
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
    /// The name of the route; nil for the pipeline as a whole.
    public let route: String?
    /// The message, for people, in one line.
    public let message: String

    /// Creates a diagnostic. Names of events, paths and errors can have newlines, which become spaces in the message.
    public init(kind: Kind, route: String?, message: String) {
        self.kind = kind
        self.route = route
        self.message = message.oneLine
    }

    /// How urgent the message is. It follows from the kind: kinds of your own are errors.
    public var severity: Severity {
        switch kind {
        case .resumed, .note: .info
        case .retrying, .searching: .warning
        default: .error
        }
    }

    /// The kind, the route and the message.
    public var description: String {
        route.map { "\(kind.rawValue) [\($0)]: \(message)" } ?? "\(kind.rawValue): \(message)"
    }
}
