import Sluice
import SluiceFiles

/// The facts that ``LifecycleEvents`` keeps for the next launch.
struct LifecycleFacts: PersistedValue {
    /// A time in the foreground that has not ended, as far as was last known.
    struct ForegroundSpan: Sendable, Equatable {
        var lastKnown: Timestamp
        /// Milliseconds.
        var duration: Double
    }

    /// The number of the local day of the first launch, since 1970.
    var firstDay: Int64?
    var hasStarted = false
    var span: ForegroundSpan?

    init() {}

    /// An installation that was launched before, on an unknown day.
    static let unknown = {
        var facts = LifecycleFacts()
        facts.hasStarted = true
        facts.firstDay = .min
        return facts
    }()

    init?(_ object: Properties) {
        guard case .bool(let hasStarted) = object["has_started"] else { return nil }
        self.hasStarted = hasStarted
        switch object["first_day"] {
        case .int(let day): firstDay = day
        case nil: break
        default: return nil
        }
        switch object["foreground_span"] {
        case .object(let span):
            guard case .date(let time) = span["last_known"], case .double(let duration) = span["duration"],
                duration >= 0
            else { return nil }
            self.span = ForegroundSpan(lastKnown: time, duration: duration)
        case nil: break
        default: return nil
        }
    }

    var object: Properties {
        var object: Properties = ["has_started": .bool(hasStarted)]
        object["first_day"] = firstDay.map { .int($0) }
        object["foreground_span"] = span.map {
            ["last_known": .date($0.lastKnown), "duration": .double($0.duration)]
        }
        return object
    }
}
