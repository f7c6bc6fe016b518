public import Logging
public import Sluice

extension Logger {
    /// Logs a diagnostic of a pipeline, with its kind and its route as metadata.
    ///
    /// ```swift
    /// let pipeline = try Pipeline(onDiagnostic: { logger.log($0) }) { … }
    /// ```
    ///
    /// An ``EventLogHandler`` ignores these records. Otherwise each lost event could cause another one.
    public func log(_ diagnostic: Diagnostic) {
        var metadata: Logger.Metadata = [Logger.diagnosticKey: "\(diagnostic.kind.rawValue)"]
        if let route = diagnostic.route { metadata["sluice.route"] = "\(route)" }
        log(level: diagnostic.severity.logLevel, "\(diagnostic.message)", metadata: metadata, source: "Sluice")
    }

    /// The key of a diagnostic's kind, by which an ``EventLogHandler`` recognizes it.
    static let diagnosticKey = "sluice.diagnostic"
}

extension Diagnostic.Severity {
    /// The level of the same urgency.
    public var logLevel: Logger.Level {
        switch self {
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}
