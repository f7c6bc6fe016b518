import Sluice

/// The properties that are added to an event, in the order of precedence. This is a pure value.
struct SuperProperties {
    typealias Dynamic = (name: String, value: @Sendable () -> PropertyValue?)

    /// The static super properties.
    var registered: Properties = [:] {
        didSet { quarter = nil }
    }
    var dynamic: [Dynamic] = []
    private let automatic: Properties
    /// The names of automatic properties that are left out.
    private let omitted: Set<String>
    var network: Properties {
        didSet { quarter = nil }
    }

    /// ``registered``, then ``automatic``, ``network`` and the offset of ``quarter`` without ``omitted``. They are joined when
    /// one of them changes, not for each event.
    private var constant: Properties = [:]
    /// The quarter of an hour since 1970 for which ``constant`` is valid. Time zone offsets change only at its
    /// beginning.
    private var quarter: Int64?

    init(automatic: Properties, network: Properties, omitted: Set<String>) {
        (self.automatic, self.network, self.omitted) = (automatic, network, omitted)
    }

    mutating func registerDynamic(_ name: String, _ value: @escaping @Sendable () -> PropertyValue?) {
        dynamic.removeAll { $0.name == name }
        dynamic.append((name, value))
    }

    /// Adds all properties to an event if no property is dynamic.
    ///
    /// - Returns: Nil if all properties were added. Otherwise the dynamic properties, which take precedence, and the
    ///   defaults to add after them.
    mutating func addConstants(
        to event: inout Event, utcOffset: (Timestamp) -> Int?
    ) -> (dynamic: [Dynamic], defaults: Properties)? {
        let time = event.time
        let quarter = time.milliseconds / 900_000 - (time.milliseconds < 0 ? 1 : 0)
        if quarter != self.quarter {
            var automatic = automatic
            automatic.addDefaults(network)
            if let offset = utcOffset(time) { automatic.addDefaults(["$utc_offset": .int(offset)]) }
            automatic.removeAll { omitted.contains($0.name) }
            constant = registered
            constant.addDefaults(automatic)
            constant = constant.shared()
            self.quarter = quarter
        }
        guard dynamic.isEmpty else { return (dynamic, constant) }
        event.properties.addDefaults(constant)
        return nil
    }
}
