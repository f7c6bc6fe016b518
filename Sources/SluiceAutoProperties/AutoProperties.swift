public import Sluice
import SluiceFiles

/// Adds to every event what is known without asking the host: the system, the device, the app, the process and the
/// container; and the host's own super properties.
///
/// ```swift
/// let auto = AutoProperties(appVersion: "2.4.1")
/// let pipeline = try Pipeline {
///     auto
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// auto.register(["plan": "pro"])
/// auto.registerDynamic("cart_size") { .int(cart.count) }
/// ```
///
/// What the system does not tell is left out: no value is ever "unknown". The automatic properties are collected once,
/// here in the initializer, which reads a few small files. Only `$utc_offset` follows the event's own time, because it
/// changes twice a year in many places, and the network is looked at again when the platform reports connectivity.
/// Docs/AutoProperties.md lists all of them with their sources.
///
/// Precedence, if a name is given more than once: the event's own, then dynamic, then static super properties, then
/// the automatic ones. So a host may correct any automatic property by registering one of the same name.
///
/// Static super properties are kept across launches if there is a place to keep them in, and a verb returns when they
/// are; what goes wrong with it is reported to the host's diagnostics, and the properties count until the process ends.
///
/// All verbs may be called from any thread; they count for events that are tracked from then on.
public final class AutoProperties: Processor {
    public static var isUnique: Bool { true }

    private struct Reports {
        var outlets: [EventOutlet] = []
        /// What went wrong before there was anyone to tell.
        var early: [String] = []
    }

    private let system: SystemReader
    private let file: StateFile?
    private let state: Locked<SuperProperties>
    private let reports = Locked(Reports())
    // Held while a change waits for the disk, for which `track` must not wait: it takes only the lock on the state.
    // Nil as long as the file could not be read.
    private let written: Locked<Properties?>

    /// True while dynamic properties are computed: a closure that tracks an event must not be called for that one too.
    @TaskLocal private static var isComputing = false

    /// - Parameters:
    ///   - appName: `$app_name`; nil for the bundle's name on Apple's platforms and the program's elsewhere.
    ///   - appVersion: `$app_version`; nil for the bundle's version on Apple's platforms. Elsewhere nobody else knows it.
    ///   - persistence: where static super properties are kept.
    public convenience init(
        appName: String? = nil, appVersion: String? = nil, persistedIn persistence: Persistence = .memory
    ) {
        self.init(appName: appName, appVersion: appVersion, persistedIn: persistence, system: .current)
    }

    package init(
        appName: String? = nil, appVersion: String? = nil, persistedIn persistence: Persistence = .memory,
        system: SystemReader
    ) {
        var automatic: Properties = [:]
        if let appName { automatic["$app_name"] = .string(appName) }
        if let appVersion { automatic["$app_version"] = .string(appVersion) }
        automatic.addDefaults(system.collect())
        automatic["$lib"] = .string(LibraryVersion.name)
        automatic["$lib_version"] = .string(LibraryVersion.current)
        self.system = system
        file = persistence.file
        var registered: Properties? = [:]
        do throws(SluiceError) {
            if let file { registered = try file.readObjectOrKeepAside() ?? [:] }
        } catch {
            reports.withLock { $0.early.append("the super properties of earlier launches cannot be read: \(error)") }
            if error.code != .malformedLine { registered = nil }
        }
        written = Locked(registered)
        state = Locked(SuperProperties(automatic: automatic, network: system.network, registered: registered ?? [:]))
    }

    /// Where static super properties are kept.
    public struct Persistence: Sendable {
        fileprivate let file: StateFile?

        /// Nowhere: the next launch has none.
        public static let memory = Persistence(file: nil)

        /// In the file `super-properties.json` in a directory, which is made if it is missing.
        ///
        /// - Parameter directory: the path of a directory. Several plugins of one host may share it; each has a file
        ///   name of its own.
        public static func file(_ directory: String) -> Persistence {
            Persistence(file: StateFile("super-properties.json", in: directory))
        }
    }

    // MARK: Super properties

    /// Adds properties to all events from now on; a name that is registered already gets the new value.
    public func register(_ properties: Properties) {
        change { $0.register(properties) }
    }

    /// Adds those of the properties to all events from now on whose names are not registered yet.
    public func registerOnce(_ properties: Properties) {
        change { $0.registerOnce(properties) }
    }

    /// Adds a property whose value is asked for at each event.
    ///
    /// - Parameters:
    ///   - name: takes precedence over a static property of the same name; the same name again replaces the closure.
    ///   - value: called inside `track`, on the caller's thread, from any number of threads at once, unless the event
    ///     brings this property itself. Keep it short. Nil leaves the property out. Events that it tracks itself do not
    ///     get dynamic properties.
    public func registerDynamic(_ name: String, _ value: @escaping @Sendable () -> PropertyValue?) {
        state.withLock { $0.registerDynamic(name, value) }
    }

    /// Removes a super property, static or dynamic; an automatic one of the same name shows again.
    public func unregister(_ name: String) {
        change { $0.unregister(name) }
    }

    /// Removes all super properties.
    public func unregisterAll() {
        change { $0.unregisterAll() }
    }

    /// The static super properties.
    public var registered: Properties { state.withLock { $0.registered } }

    private func change(_ body: (inout SuperProperties) -> Void) {
        state.withLock { body(&$0) }
        guard let file else { return }
        do throws(SluiceError) {
            try written.withLock { (written) throws(SluiceError) in
                if written == nil {
                    // They are not to be lost, only because they could not be read before.
                    let kept = try file.readObjectOrKeepAside() ?? [:]
                    state.withLock { $0.registerOnce(kept) }
                    written = kept
                }
                // Of changes that come at once, the last one is in the state by now, whoever made it.
                let latest = state.withLock { $0.registered }
                guard latest != written else { return }
                try file.write(latest)
                written = latest
            }
        } catch {
            report("the super properties cannot be kept for the next launch: \(error)")
        }
    }

    private func report(_ message: String) {
        let outlets = reports.withLock { reports in
            if reports.outlets.isEmpty { reports.early.append(message) }
            return reports.outlets
        }
        for outlet in outlets { outlet.report(message) }
    }

    // MARK: Processor

    public func attach(to outlet: EventOutlet) throws {
        let early = reports.withLock { reports in
            reports.outlets.append(outlet)
            defer { reports.early = [] }
            return reports.early
        }
        for message in early { outlet.report(message) }
    }

    public func receive(_ signal: Signal) {
        guard case .connectivity = signal else { return }
        let network = system.network
        state.withLock { $0.setNetwork(network) }
    }

    public func process(_ event: inout Event) -> Disposition {
        let (constant, dynamic) = state.withLock { state in
            state.constants(at: event.time, utcOffset: system.utcOffset)
        }
        // Outside the lock: the closures are the host's.
        if !dynamic.isEmpty, !AutoProperties.isComputing {
            AutoProperties.$isComputing.withValue(true) {
                for property in dynamic where event.properties[property.name] == nil {
                    event.properties[property.name] = property.value()
                }
            }
        }
        event.properties.addDefaults(constant)
        return .keep
    }
}
