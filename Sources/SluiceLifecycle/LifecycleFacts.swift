import Sluice

/// The facts that ``LifecycleEvents`` keeps for the next launch.
struct LifecycleFacts: PersistedValue {
    /// A span in the foreground without a known end.
    struct ForegroundSpan: Sendable, Equatable {
        var lastKnown: Timestamp
        /// Milliseconds.
        var duration: Double

        var object: Properties { ["last_known": .date(lastKnown), "duration": .double(duration)] }
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

    init(isUnknown: Bool = false) {
        (hasStarted, isInstalled, firstDay) = (isUnknown, isUnknown, isUnknown ? .min : nil)
    }

    /// An installation that was launched before, on an unknown day.
    static let unknown = LifecycleFacts(isUnknown: true)

    init?(_ object: Properties) {
        guard case .bool(let hasStarted) = object["has_started"] else { return nil }
        self.hasStarted = hasStarted
        if let value = object["first_day"] {
            guard case .int(let day) = value else { return nil }
            firstDay = day
        }
        if let value = object["foreground_span"] {
            guard case .date(let time) = value.object?["last_known"],
                case .double(let duration) = value.object?["duration"], duration >= 0
            else { return nil }
            span = ForegroundSpan(lastKnown: time, duration: duration)
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
        Properties(known: [
            "has_started": hasStarted, "is_installed": isInstalled,
            "app_version": version.number, "app_build": version.build,
            "version_events": versionEvents.isEmpty ? nil : versionEvents.map(\.object),
            "first_day": firstDay, "foreground_span": span?.object,
        ])
    }
}
