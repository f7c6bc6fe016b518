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

    /// Nil if it is not what ``object`` makes.
    init?(_ object: Properties) {
        guard case .bool(let hasStarted) = object["has_started"] else { return nil }
        self.hasStarted = hasStarted
        switch object["first_day"] {
        case .int(let day): firstDay = day
        case nil: break
        default: return nil
        }
        switch object["stay"] {
        case .object(let stay):
            guard case .date(let time) = stay["last_known"], case .double(let duration) = stay["duration"],
                duration >= 0
            else { return nil }
            self.stay = Stay(lastKnown: time, duration: duration)
        case nil: break
        default: return nil
        }
    }

    var object: Properties {
        var object: Properties = ["has_started": .bool(hasStarted)]
        object["first_day"] = firstDay.map { .int($0) }
        object["stay"] = stay.map { ["last_known": .date($0.lastKnown), "duration": .double($0.duration)] }
        return object
    }
}
