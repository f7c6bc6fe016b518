import Sluice

/// What one launch tells the next.
struct LifecycleFacts: Equatable {
    /// A stay in the foreground that has not ended, as far as was known last.
    struct Stay: Equatable {
        var lastKnown: Timestamp
        /// Milliseconds.
        var duration: Double
    }

    /// The number of the local day of the first launch, since 1970.
    var firstDay: Int64?
    var hasStarted = false
    var stay: Stay?

    init() {}

    /// Of an installation that has been launched before, though nobody knows when.
    init(isFirstLaunch: Bool) {
        hasStarted = !isFirstLaunch
        if !isFirstLaunch { firstDay = .min }
    }

    init(_ object: Properties) {
        if case .int(let day) = object["first_day"] { firstDay = day }
        hasStarted = object["has_started"] == true
        if case .object(let stay) = object["stay"], case .date(let time) = stay["last_known"],
            case .double(let duration) = stay["duration"]
        {
            self.stay = Stay(lastKnown: time, duration: duration)
        }
    }

    var object: Properties {
        var object: Properties = ["has_started": .bool(hasStarted)]
        object["first_day"] = firstDay.map { .int($0) }
        object["stay"] = stay.map { ["last_known": .date($0.lastKnown), "duration": .double($0.duration)] }
        return object
    }
}
