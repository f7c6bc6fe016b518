/// Every error that this package throws: a code to switch on, a sentence that says what to do, and the cause.
public struct SluiceError: Error, Sendable {
    /// What kind of error it is. Plugins may add codes of their own; treat unknown ones as failures.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String

        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The pipeline's stages do not fit together, such as a stage listed twice.
        public static let invalidPipeline = Code(rawValue: "invalidPipeline")
        /// A parameter of a plugin is out of its range or malformed, such as a URL that is not http(s).
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// The place where something is to be kept cannot be used: missing, not writable, a symbolic link.
        public static let storageUnavailable = Code(rawValue: "storageUnavailable")
        /// The store is full, and nothing in it may make room for this event.
        public static let storageFull = Code(rawValue: "storageFull")
        /// One event is larger than the place it should go to accepts.
        public static let eventTooLarge = Code(rawValue: "eventTooLarge")
        /// Reading, writing or removing failed.
        public static let inputOutput = Code(rawValue: "inputOutput")
        /// Bytes that should be one of this package's lines are not.
        public static let malformedLine = Code(rawValue: "malformedLine")
        /// Something was used after it had been shut down.
        public static let shutDown = Code(rawValue: "shutDown")
        /// A library of the system that this plugin needs is not installed.
        public static let missingLibrary = Code(rawValue: "missingLibrary")
        /// A plugin does not keep what its protocol promises; thrown by SluiceTesting's contracts.
        public static let brokenContract = Code(rawValue: "brokenContract")
    }

    public var code: Code
    /// What went wrong and what to do about it. It never holds secrets or event contents.
    public var message: String
    /// The error underneath, if there was one.
    public var cause: (any Error)?

    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension SluiceError: CustomStringConvertible {
    public var description: String {
        let suffix = cause.map { " (\($0))" } ?? ""
        return "\(code.rawValue): \(message)\(suffix)"
    }
}
