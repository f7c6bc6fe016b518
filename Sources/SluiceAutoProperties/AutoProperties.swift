public import Sluice

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
/// here in the initializer, which reads a few small files; only `$utc_offset` follows the event's own time, because it
/// changes twice a year in many places. Docs/AutoProperties.md lists all of them with their sources.
///
/// Precedence, if a name is given more than once: the event's own, then dynamic, then static super properties, then
/// the automatic ones. So a host may correct any automatic property by registering one of the same name.
///
/// All verbs may be called from any thread; they count for events that are tracked from then on.
public final class AutoProperties: Processor {
    public static var isUnique: Bool { true }

    private let utcOffset: @Sendable (Timestamp) -> Int?
    private let state: Locked<SuperProperties>

    /// True while dynamic properties are computed: a closure that tracks an event must not be called for that one too.
    @TaskLocal private static var isComputing = false

    /// - Parameters:
    ///   - appName: `$app_name`; nil for the bundle's name on Apple's platforms and the program's elsewhere.
    ///   - appVersion: `$app_version`; nil for the bundle's version on Apple's platforms. Elsewhere nobody else knows it.
    public convenience init(appName: String? = nil, appVersion: String? = nil) {
        self.init(appName: appName, appVersion: appVersion, system: .current)
    }

    package init(appName: String? = nil, appVersion: String? = nil, system: SystemReader) {
        var automatic: Properties = [:]
        if let appName { automatic["$app_name"] = .string(appName) }
        if let appVersion { automatic["$app_version"] = .string(appVersion) }
        automatic.fill(from: system.collect())
        automatic["$lib"] = .string(LibraryVersion.name)
        automatic["$lib_version"] = .string(LibraryVersion.current)
        utcOffset = system.utcOffset
        state = Locked(SuperProperties(automatic: automatic))
    }

    // MARK: Super properties

    /// Adds properties to all events from now on; a name that is registered already gets the new value.
    public func register(_ properties: Properties) {
        state.withLock { $0.register(properties) }
    }

    /// Adds those of the properties to all events from now on whose names are not registered yet.
    public func registerOnce(_ properties: Properties) {
        state.withLock { $0.registerOnce(properties) }
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
        state.withLock { $0.unregister(name) }
    }

    /// Removes all super properties.
    public func unregisterAll() {
        state.withLock { $0.unregisterAll() }
    }

    /// The static super properties.
    public var registered: Properties { state.withLock { $0.registered } }

    // MARK: Processor

    public func process(_ event: inout Event) -> Disposition {
        let (constant, dynamic) = state.withLock { state in
            state.constants(at: event.time, utcOffset: utcOffset)
        }
        // Outside the lock: the closures are the host's.
        if !dynamic.isEmpty, !AutoProperties.isComputing {
            AutoProperties.$isComputing.withValue(true) {
                for property in dynamic where event.properties[property.name] == nil {
                    event.properties[property.name] = property.value()
                }
            }
        }
        event.properties.fill(from: constant)
        return .keep
    }
}
