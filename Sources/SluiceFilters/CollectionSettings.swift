public import Sluice

/// Remembers across launches whether the host collects events at all.
///
/// ```swift
/// let settings = CollectionSettings(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     settings
///     …
/// }
/// try settings.setEnabled(false)      // events are dropped from now on: DropReason.collectionDisabled
/// ```
///
/// List it above all other stages, which then never see a dropped event. Use ``Consent`` for the user's own answer; you can
/// use both. To store events without sending them, call `pipeline.pauseDelivery()`, which counts for one launch.
///
/// One object can be part of several pipelines, and you can call it from any thread. Building the pipeline throws if the
/// settings can't be read now. Damaged settings are reported, and collect nothing until you call ``setEnabled(_:)``.
public final class CollectionSettings: Processor {
    /// Returns true: a pipeline has at most one.
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

    /// The connection to the pipelines that this is part of.
    public let context = PluginContext()
    private let settings: PersistedState<Settings>

    /// Creates settings, which are read when the pipeline is built or when you first ask for them.
    ///
    /// - Parameter persistence: Where the settings are kept.
    public init(persistedIn persistence: Persistence) {
        settings = PersistedState(
            "collection", in: persistence, context, damaged: Settings(isEnabled: false)
        ) { Settings(isEnabled: true) }
    }

    /// Whether events pass. True until you disable collection.
    public var isEnabled: Bool { settings.value?.isEnabled ?? true }

    /// Lets events pass, or drops them as ``Sluice/DropReason/collectionDisabled``. The setting counts immediately, and is on
    /// disk when this returns.
    ///
    /// - Parameter isEnabled: Whether events pass.
    /// - Throws: An error of the place where the settings are kept; the setting then counts until the process ends.
    public func setEnabled(_ isEnabled: Bool) throws(SluiceError) {
        settings.set(Settings(isEnabled: isEnabled))
        try settings.save()
    }

    /// Reads the settings.
    ///
    /// - Throws: An error of the place where the settings are kept.
    public func prepare() throws { try settings.load() }

    /// Drops the event if collection is disabled.
    public func process(_ event: inout Event) -> Disposition {
        settings.memory.withLock { $0.value?.isEnabled ?? true } ? .keep : .drop(.collectionDisabled)
    }
}
