public import Sluice

/// Adds properties of the system, the device, the app, the process and the container to every event, and your own super
/// properties.
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
/// An unknown property is left out. The automatic properties are collected once, in the initializer, which reads a few
/// small files. Only the offset and the network change later: `$utc_offset` follows the event's own time, and the
/// network is read whenever the platform reports connectivity. Docs/AutoProperties.md lists all properties with their
/// sources.
///
/// If a name is given more than once, the order of precedence is: the event's own property, then dynamic, then static
/// super properties, then the automatic ones. So you can correct an automatic property by registering one of the same
/// name.
///
/// With a persistence, static super properties are kept across launches; a method returns when they are on disk. If
/// they can't be kept, a diagnostic reports it, and they are used until the process ends.
///
/// You can call all methods from any thread. They affect events that are tracked later.
public final class AutoProperties: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The automatic properties that are left out unless you ask for them: the names of the host and of its control
    /// group can identify a person or your infrastructure, and the number of a process says little.
    ///
    /// ```swift
    /// let auto = AutoProperties(except: ["$carrier"], including: ["$host_name", "$process_id"])
    /// ```
    public static let optionalNames: Set<String> = ["$host_name", "$cgroup", "$process_id"]

    /// All automatic properties, on any platform. The page has the same ones.
    private static let names = optionalNames.union([
        "$app_build", "$app_id", "$app_name", "$app_version", "$architecture", "$carrier", "$container_id",
        "$container_runtime", "$country", "$cpu_count", "$cpu_limit", "$kernel_version", "$lib", "$lib_version",
        "$locale", "$manufacturer", "$memory_limit", "$memory_size", "$model", "$network_type", "$orchestrator",
        "$os", "$os_name", "$os_version", "$process_name", "$runtime", "$runtime_version", "$screen_height",
        "$screen_width", "$timezone", "$utc_offset", "$wifi",
    ])

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let system: SystemReader
    /// The mistake in the arguments.
    private let mistake: String?
    private let state: Locked<SuperProperties>
    private let kept: PersistedState<Registered>

    private struct Registered: PersistedValue {
        private(set) var properties: Properties = [:]
        /// The names that were registered once in this launch: a stored value takes precedence.
        private var once: Set<String> = []
        /// The names that were removed in this launch, which a stored value must not bring back.
        private var removed: Set<String> = []
        private var hasRemovedAll = false

        init() {}

        init?(_ object: Properties) { properties = object }

        var object: Properties { properties }

        mutating func register(_ new: Properties) {
            properties.merge(new)
            once.subtract(new.map(\.name))
        }

        mutating func registerOnce(_ new: Properties) {
            once.formUnion(Set(new.map(\.name)).subtracting(properties.map(\.name)))
            properties.addDefaults(new)
        }

        mutating func remove(_ name: String) {
            properties[name] = nil
            removed.insert(name)
        }

        mutating func removeAll() {
            properties = [:]
            hasRemovedAll = true
        }

        mutating func merge(stored: Registered) {
            guard !hasRemovedAll else { return }
            var stored = stored.properties
            stored.removeAll { removed.contains($0.name) }
            let earlier = once.intersection(stored.map(\.name))
            properties.removeAll { earlier.contains($0.name) }
            properties.addDefaults(stored)
        }
    }

    /// True while dynamic properties are computed: a closure that tracks an event must not be called for that event.
    @TaskLocal private static var isComputing = false

    /// Creates the processor, and collects the automatic properties.
    ///
    /// ```swift
    /// let auto = AutoProperties(appVersion: "2.4.1", appBuild: "1312", persistedIn: .file(stateDirectory))
    /// ```
    ///
    /// - Parameters:
    ///   - appName: `$app_name`; nil or blank for the bundle's name on Apple's platforms and the program's elsewhere.
    ///   - appVersion: `$app_version`; nil or blank for the bundle's version on Apple's platforms. Pass it elsewhere.
    ///   - appBuild: `$app_build`; nil or blank for the number of the bundle's build on Apple's platforms. Pass it elsewhere.
    ///   - excluded: The names of automatic properties to leave out, such as `$carrier`. Your own events and super
    ///     properties can still have them. An unknown name is an error when the pipeline is built.
    ///   - included: The names of ``optionalNames`` to add. Any other name is an error when the pipeline is built.
    ///   - persistence: Where static super properties are kept.
    public convenience init(
        appName: String? = nil, appVersion: String? = nil, appBuild: String? = nil,
        except excluded: Set<String> = [], including included: Set<String> = [],
        persistedIn persistence: Persistence = .memory
    ) {
        self.init(
            appName: appName, appVersion: appVersion, appBuild: appBuild, except: excluded, including: included,
            persistedIn: persistence, system: .current)
    }

    init(
        appName: String? = nil, appVersion: String? = nil, appBuild: String? = nil,
        except excluded: Set<String> = [], including included: Set<String> = [],
        persistedIn persistence: Persistence = .memory, system: SystemReader
    ) {
        let omitted = excluded.union(AutoProperties.optionalNames.subtracting(included))
        let unfitNames = included.subtracting(AutoProperties.optionalNames.subtracting(excluded))
            .union(excluded.subtracting(AutoProperties.names))
        var automatic = Properties(known: ["$app_name": appName, "$app_version": appVersion, "$app_build": appBuild])
        automatic.removeAll { $0.value.string?.isBlank == true }
        mistake =
            unfitNames.min().map { "\($0) in except or including is no such property, or is in both: correct it" }
            ?? automatic.compactMap { given in given.value.string?.flaw.map { "\(given.name) \($0)" } }.first
        automatic.addDefaults(system.collect())
        automatic["$lib"] = .string(LibraryVersion.name)
        automatic["$lib_version"] = .string(LibraryVersion.current)
        self.system = system
        state = Locked(SuperProperties(automatic: automatic, network: system.networkProperties, omitted: omitted))
        kept = PersistedState("super-properties", in: persistence, initial: Registered(), report: context.report)
    }

    // MARK: Super properties

    /// Adds properties to all later events. A registered name gets the new value.
    ///
    /// ```swift
    /// auto.register(["plan": "pro", "region": "eu"])
    /// ```
    ///
    /// - Parameter properties: The properties to add.
    public func register(_ properties: PropertyLiteral) {
        change { $0.register(properties.properties) }
    }

    /// Adds the properties whose names are not registered yet to all later events.
    ///
    /// A value of an earlier launch counts, even if it can't be read before the user's consent.
    ///
    /// ```swift
    /// auto.registerOnce(["first_plan": "free"])    // keeps a value of an earlier launch
    /// ```
    ///
    /// - Parameter properties: The properties to add.
    public func registerOnce(_ properties: PropertyLiteral) {
        change { $0.registerOnce(properties.properties) }
    }

    /// Adds a property whose value is computed for each event.
    ///
    /// ```swift
    /// auto.registerDynamic("cart_size") { cart.isEmpty ? nil : cart.count }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The property's name. It takes precedence over a static property; a second call with the name replaces
    ///     the closure.
    ///   - value: Called inside `track`, on the caller's thread, from any number of threads at the same time, unless
    ///     the event has this property. Keep it short. Nil leaves the property out. Events that it tracks get no
    ///     dynamic properties.
    public func registerDynamic(_ name: String, _ value: @escaping @Sendable () -> (any PropertyConvertible)?) {
        state.withLock { $0.registerDynamic(name) { value()?.propertyValue } }
    }

    /// Removes a super property, static or dynamic. An automatic property of the same name is then used.
    ///
    /// ```swift
    /// auto.unregister("plan")
    /// ```
    ///
    /// - Parameter name: The property's name.
    public func unregister(_ name: String) {
        state.withLock { $0.dynamic.removeAll { $0.name == name } }
        change { $0.remove(name) }
    }

    /// Removes all super properties.
    public func unregisterAll() {
        state.withLock { $0.dynamic = [] }
        change { $0.removeAll() }
    }

    /// The static super properties.
    public var registered: Properties { kept.value.properties }

    /// Changes the stored properties. Events get a copy of them, so a change during an erasure begins with none.
    private func change(_ body: (inout Registered) -> Void) {
        kept.saveOrReport { kept in
            body(&kept)
            copy(kept)
        }
    }

    /// Passes the properties to later events: of earlier launches, or none after an erasure.
    private func adopt() { kept.read(copy) }

    private func copy(_ kept: Registered) { state.withLock { $0.registered = kept.properties } }

    // MARK: Processor

    /// Reads the super properties of earlier launches.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the app's name, version or build has a blank at an end or contains
    ///   a control character, such as the newline of a file, if `except` names a property that isn't automatic, or `including`
    ///   one that isn't one of ``optionalNames`` or that `except` names too; and an error of the place where they are kept.
    public func prepare() throws {
        if let mistake { throw SluiceError(.invalidArgument, mistake) }
        try kept.load()
        StateGate.current?.addReader(self)
        adopt()
    }

    /// Reads the network whenever the platform reports connectivity.
    public func update(for signal: Signal) {
        guard signal.connectivity != nil else { return }
        let network = system.networkProperties
        state.withLock { $0.network = network }
    }

    /// Adds the properties that the event doesn't have.
    public func process(_ event: inout Event) -> Disposition {
        let remaining = state.withLock { $0.addConstants(to: &event, utcOffset: { system.utcOffset($0) }) }
        guard let remaining else { return .keep }
        // Outside the lock: the closures are the host's.
        if !AutoProperties.isComputing {
            AutoProperties.$isComputing.withValue(true) {
                for property in remaining.dynamic where event.properties[property.name] == nil {
                    event.properties[property.name] = property.value()
                }
            }
        }
        event.properties.addDefaults(remaining.defaults)
        return .keep
    }

    /// Returns when the static super properties are stored.
    public func finish() async { await kept.finish() }

    /// Removes the static super properties. The dynamic ones are your code, and stay.
    public func forget() { adopt() }
}

extension AutoProperties: KeptState {
    /// Adds the super properties of earlier launches to later events.
    package func keep() { adopt() }

    /// The super properties are removed as a state of their own.
    package func remove(forgetting: Bool) -> Int { 0 }
}
