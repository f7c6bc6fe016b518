/// The error type of this package: a code to switch on, a message that tells you how to solve it, and the cause.
///
/// ```swift
/// do {
///     try await pipeline.replayDeadLetters()
/// } catch let error as SluiceError where error.code == .inputOutput {
///     print(error.message)
/// }
/// ```
public struct SluiceError: Error, Sendable, CustomStringConvertible {
    /// The kind of an error. Plugins can add their own; treat unknown codes as failures.
    ///
    /// ```swift
    /// extension SluiceError.Code {
    ///     nonisolated static let quotaExceeded = SluiceError.Code(rawValue: "quotaExceeded")
    /// }
    /// ```
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code of your own.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The stages of the pipeline don't fit together, such as a stage that is listed twice.
        public static let invalidPipeline = Code(rawValue: "invalidPipeline")
        /// An argument is out of range or malformed, such as a URL that isn't http(s).
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// A storage location can't be used: it is missing, not writable or a symbolic link.
        public static let storageUnavailable = Code(rawValue: "storageUnavailable")
        /// The store is full, and can't evict anything for this event.
        public static let storageFull = Code(rawValue: "storageFull")
        /// The event is larger than its store or receiver accepts.
        public static let eventTooLarge = Code(rawValue: "eventTooLarge")
        /// Reading, writing or removing failed.
        public static let inputOutput = Code(rawValue: "inputOutput")
        /// The bytes aren't a valid line of this package.
        public static let malformedLine = Code(rawValue: "malformedLine")
        /// Stored state has a version that this program can't read.
        public static let otherVersion = Code(rawValue: "otherVersion")
        /// The object was used after it had been shut down.
        public static let shutDown = Code(rawValue: "shutDown")
        /// A system library that this plugin needs isn't installed.
        public static let missingLibrary = Code(rawValue: "missingLibrary")
        /// This plugin doesn't support the operation.
        public static let unsupported = Code(rawValue: "unsupported")
        /// A value can't be represented as properties. The message names the type and the place in it.
        public static let unencodable = Code(rawValue: "unencodable")
        /// A plugin breaks a promise of its protocol. The contracts of SluiceTesting throw this.
        public static let brokenContract = Code(rawValue: "brokenContract")
    }

    /// The kind of the error.
    public var code: Code
    /// The problem and how to solve it, without secrets and event contents.
    public var message: String
    /// The underlying error, if there is one.
    public var cause: (any Error)?

    /// Creates an error with a message about the problem and how to solve it, without secrets and event contents.
    ///
    /// ```swift
    /// throw SluiceError(.quotaExceeded, "the quota of today is used up: raise it, or wait until tomorrow")
    /// ```
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The code, the message and the cause.
    public var description: String { "\(code.rawValue): \(reason)" }

    /// The message and the cause.
    package var reason: String { message + (cause.map { " (\($0))" } ?? "") }

    /// An error that a plugin has thrown while a pipeline was built, with the name of its type.
    package init(_ error: any Error, from plugin: Any) {
        let name = "\(type(of: plugin))"
        if let error = error as? SluiceError {
            self.init(error.code, "\(name): \(error.message)", cause: error.cause)
        } else {
            self.init(.invalidPipeline, "\(name) cannot be used: \(error)", cause: error)
        }
    }
}
