import Sluice

/// The facts that ``LifecycleEvents`` keeps for the next launch.
struct LifecycleFacts: PersistedValue {
    /// A span in the foreground without a known end.
    struct ForegroundSpan: Sendable, Equatable {
        var lastKnown: Timestamp
        /// Milliseconds.
        var duration: Double
    }

    /// The number of the local day of the first launch, since 1970.
    var firstDay: Int64?
    var hasStarted = false
    var span: ForegroundSpan?
    var version = AppVersion()
    /// Whether the installation has been seen before, or its `$AppInstall` is among ``versionEvents``.
    var isInstalled = false
    /// Events that may not have been tracked. The next launch tracks them with the same ids.
    var versionEvents: [VersionEvent] = []

    init() {}

    /// An installation that was launched before, on an unknown day.
    static let unknown = {
        var facts = LifecycleFacts()
        facts.hasStarted = true
        facts.firstDay = .min
        facts.isInstalled = true
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
        version = AppVersion(number: object["app_version"]?.string, build: object["app_build"]?.string)
        // Earlier releases didn't write this member.
        isInstalled = object["is_installed"] != false
        for value in object["version_events"]?.array ?? [] {
            guard let event = value.object.flatMap(VersionEvent.init) else { return nil }
            versionEvents.append(event)
        }
    }

    /// Adds the stored facts of earlier launches.
    ///
    /// - The first day is the stored one, because it is earlier. An unknown first day of this launch isn't used.
    /// - The app has started and is installed if it was so earlier or is so now.
    /// - The version is the stored one, because this launch has not been compared with it yet.
    /// - The stored events come first.
    /// - The span is the one of this launch, if there is one.
    mutating func merge(stored: LifecycleFacts) {
        let isUnknown = firstDay == LifecycleFacts.unknown.firstDay
        hasStarted = stored.hasStarted || hasStarted && !isUnknown
        firstDay = stored.firstDay ?? (isUnknown ? nil : firstDay)
        span = span ?? stored.span
        version = stored.version
        isInstalled = stored.isInstalled || isInstalled
        versionEvents = stored.versionEvents + versionEvents
    }

    var object: Properties {
        var object: Properties = ["has_started": .bool(hasStarted), "is_installed": .bool(isInstalled)]
        object["app_version"] = version.number.map { .string($0) }
        object["app_build"] = version.build.map { .string($0) }
        if !versionEvents.isEmpty {
            object["version_events"] = .array(PropertyArray(versionEvents.map { .object($0.object) }))
        }
        object["first_day"] = firstDay.map { .int($0) }
        object["foreground_span"] = span.map {
            ["last_known": .date($0.lastKnown), "duration": .double($0.duration)]
        }
        return object
    }
}
