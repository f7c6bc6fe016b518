public import Logging
public import Sluice

/// Tracks the log records above a level as events.
///
/// Use it beside the handler that writes your log:
///
/// ```swift
/// LoggingSystem.bootstrap { label in
///     MultiplexLogHandler([
///         StreamLogHandler.standardError(label: label),
///         EventLogHandler(label: label, tracking: pipeline, from: .error),
///     ])
/// }
/// ```
///
/// The event is called `Log`. Its properties are `level`, `message`, `logger`, `source`, `file`, `line`, and, if the record
/// has them, `error` and `metadata`. A record of the level `critical` is a critical event.
///
/// Some records are not tracked, so that no record can cause another one without end:
///
/// - the pipeline's diagnostics, if they are logged with ``Logging/Logger/log(_:)``
/// - records that are logged while this handler tracks another one, for example by a processor of the pipeline
public struct EventLogHandler: LogHandler {
    /// Whether the current task or thread is tracking a record.
    @TaskLocal private static var isTracking = false

    /// The level from which the logger calls this handler. It can't lower the level of the events.
    public var logLevel: Logger.Level
    /// The logger's metadata, which is part of each event.
    public var metadata: Logger.Metadata = [:]
    /// The source of further metadata.
    public var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let tracker: any EventTracking
    private let minimumLevel: Logger.Level

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - label: The label of the logger.
    ///   - tracker: The pipeline.
    ///   - minimumLevel: The lowest level whose records become events. It stays the same if the logger's level is changed.
    ///   - metadataProvider: The source of further metadata.
    public init(
        label: String, tracking tracker: any EventTracking, from minimumLevel: Logger.Level = .error,
        metadataProvider: Logger.MetadataProvider? = nil
    ) {
        self.label = label
        self.tracker = tracker
        self.minimumLevel = minimumLevel
        self.metadataProvider = metadataProvider
        logLevel = minimumLevel
    }

    /// Gets or sets one value of the metadata.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Tracks a record.
    public func log(event record: LogEvent) {
        guard record.level >= minimumLevel, record.metadata?[Logger.diagnosticKey] == nil,
            !EventLogHandler.isTracking
        else { return }
        let properties = properties(of: record)
        EventLogHandler.$isTracking.withValue(true) {
            _ = tracker.track("Log", properties, priority: record.level == .critical ? .critical : .normal)
        }
    }

    private func properties(of record: LogEvent) -> Properties {
        var properties: Properties = [
            "level": .string(record.level.rawValue), "message": .string("\(record.message)"), "logger": .string(label),
            "source": .string(record.source), "file": .string(record.file), "line": .int(record.line),
        ]
        if let error = record.error { properties["error"] = .string("\(error)") }
        let metadata = metadata.merging(metadataProvider?.get() ?? [:]) { _, provided in provided }
            .merging(record.metadata ?? [:]) { _, explicit in explicit }
        if !metadata.isEmpty { properties["metadata"] = PropertyValue(metadata) }
        return properties
    }
}

extension PropertyValue {
    fileprivate init(_ metadata: Logger.Metadata) {
        let pairs = metadata.sorted { $0.key < $1.key }.map { ($0.key, PropertyValue($0.value)) }
        self = .object(Properties(pairs))
    }

    private init(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let string): self = .string(string)
        case .stringConvertible(let value): self = .string(value.description)
        case .dictionary(let metadata): self = PropertyValue(metadata)
        case .array(let values): self = .array(PropertyArray(values.map { PropertyValue($0) }))
        }
    }
}
