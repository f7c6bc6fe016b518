public import Sluice

/// Turns the collection of events on or off, and remembers the setting across launches.
///
/// ```swift
/// let settings = CollectionSettings(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     settings
///     …
/// }
/// try settings.setEnabled(false)  // Further events are dropped with DropReason.collectionDisabled.
/// ```
///
/// List it above all other stages, so they never see a dropped event. Use ``Consent`` for the user's own answer; you
/// can use both. To store events without sending them, call `pipeline.pauseDelivery()`, which lasts for one launch.
///
/// Each pipeline needs an object of its own. You can call it from any thread. Building the pipeline throws if the
/// settings can't be read. Damaged settings are reported, and all events are dropped until you call ``setEnabled(_:)``.
public final class CollectionSettings: Processor {
    /// True: an event passes at most one.
    public static var isUnique: Bool { true }

    private struct Settings: PersistedValue {
        var isEnabled: Bool

        init(isEnabled: Bool) { self.isEnabled = isEnabled }

        init?(_ object: Properties) {
            guard case .bool(let isEnabled) = object["enabled"] else { return nil }
            self.isEnabled = isEnabled
        }

        var object: Properties { ["enabled": .bool(isEnabled)] }
    }

    /// Connects this plugin to its pipelines.
    public let context = PluginContext()
    private let settings: PersistedState<Settings>

    /// Creates settings. They are read when the pipeline is built or when you first ask for them.
    ///
    /// - Parameter persistence: Where to keep the settings.
    public init(persistedIn persistence: Persistence) {
        settings = PersistedState(
            "collection", in: persistence, initial: Settings(isEnabled: true), ifDamaged: Settings(isEnabled: false),
            report: context.report)
    }

    /// Whether events pass. True until you disable collection.
    ///
    /// ```swift
    /// let settings = CollectionSettings(persistedIn: .file(stateDirectory))
    /// if !settings.isEnabled { print("This installation sends no events.") }
    /// ```
    public var isEnabled: Bool { settings.value.isEnabled }

    /// Turns collection on or off. The setting takes effect immediately, and is on disk when this method returns.
    ///
    /// ```swift
    /// let settings = CollectionSettings(persistedIn: .file(stateDirectory))
    /// let pipeline = try Pipeline {
    ///     settings
    ///     …
    /// }
    /// try settings.setEnabled(false)  // The object that stands in the pipeline.
    /// ```
    ///
    /// While collection is off, events are dropped as ``Sluice/DropReason/collectionDisabled``, also those that a stage below has
    /// held before and lets continue now. Events that are waiting in a store are still sent. To delete them, as App Center does,
    /// call ``Sluice/Pipeline/deleteWaitingEvents()`` too.
    ///
    /// - Parameter isEnabled: Whether events pass.
    /// - Throws: The error of the place where the settings are kept. The setting then lasts until the process ends.
    ///   ``Sluice/SluiceError/Code/invalidPipeline`` if another object stands in a pipeline with this place: nothing changes.
    public func setEnabled(_ isEnabled: Bool) throws(SluiceError) {
        try settings.save { $0.isEnabled = isEnabled }
    }

    /// Reads the settings.
    ///
    /// - Throws: The error of the place where the settings are kept.
    public func prepare() throws {
        // Without consent too: the setting must not be lost.
        try settings.load(behind: nil)
    }

    /// Drops the event if collection is disabled.
    public func process(_ event: inout Event) -> Disposition { isEnabled ? .keep : .drop(.collectionDisabled) }

    /// Returns when the settings are stored.
    public func finish() async { await settings.finish() }
}

extension CollectionSettings: Gatekeeper {}
