import Sluice

/// The entered screens, in the order of their entries. This is a pure value, and each method gets the time.
struct ScreenTable {
    /// The limit for a host that never leaves its screens.
    static let maximumCount = 100

    enum Output {
        case entered(name: String, referrer: String?, Properties)
        case left(name: String, Duration, Properties)
        /// A screen has ended without a view.
        case unseen
    }

    private struct Screen {
        let id: UInt64
        let name: String
        let parent: UInt64?
        let properties: Properties
        /// Nil while the screen is not visible.
        var watch: Stopwatch?
        var wasSeen = false
    }

    private var screens: [Screen] = []
    /// False until the app is known to be active.
    private var isVisible = false
    private var lastName: String?
    /// Whether the app was active or has launched in the background, or the absence of these signals was reported.
    private var knowsSignals = false

    /// Call this for a passive launch: the app may never become active.
    mutating func launchInBackground() { knowsSignals = true }

    /// Whether an unseen screen lacks a signal that has never come. True once.
    mutating func lacksSignals() -> Bool {
        defer { knowsSignals = true }
        return !knowsSignals
    }

    mutating func enter(
        _ name: String, _ properties: Properties, in parent: UInt64?, at now: Duration, _ outputs: inout [Output]
    ) -> UInt64 {
        if screens.count >= ScreenTable.maximumCount { leave(screens[0].id, [:], at: now, &outputs) }
        let id = DurationToken.newID()
        screens.append(Screen(id: id, name: name, parent: parent, properties: properties))
        if isVisible { see(screens.count - 1, at: now, &outputs) }
        return id
    }

    /// Leaves a screen. Its children are left first, in the reverse order of their entries.
    mutating func leave(_ id: UInt64, _ properties: Properties, at now: Duration, _ outputs: inout [Output]) {
        guard let index = screens.firstIndex(where: { $0.id == id }) else { return }
        for child in screens.filter({ $0.parent == id }).reversed() { leave(child.id, [:], at: now, &outputs) }
        hide(index, properties, at: now, &outputs)
        if !screens.remove(at: index).wasSeen { outputs.append(.unseen) }
    }

    mutating func leaveAll(at now: Duration, _ outputs: inout [Output]) {
        for screen in screens.reversed() { leave(screen.id, [:], at: now, &outputs) }
    }

    /// Returns the screen of a name that was entered last.
    func id(_ name: String) -> UInt64? {
        screens.last { $0.name == name }?.id
    }

    mutating func disappear(at now: Duration, _ outputs: inout [Output]) {
        isVisible = false
        for index in screens.indices.reversed() { hide(index, [:], at: now, &outputs) }
        if screens.contains(where: { !$0.wasSeen }) { outputs.append(.unseen) }
    }

    mutating func appear(at now: Duration, _ outputs: inout [Output]) {
        guard !isVisible else { return }
        (isVisible, knowsSignals) = (true, true)
        for index in screens.indices { see(index, at: now, &outputs) }
    }

    /// Leaves the visible screens, and forgets the last one, because the user changes. A screen that is still entered when
    /// the app becomes active the next time is viewed by the next user.
    mutating func changeUser(at now: Duration, _ outputs: inout [Output]) {
        for index in screens.indices.reversed() {
            hide(index, [:], at: now, &outputs)
            screens[index].wasSeen = false
        }
        lastName = nil
    }

    /// Makes a screen visible. Returning to a screen isn't an entry.
    private mutating func see(_ index: Int, at now: Duration, _ outputs: inout [Output]) {
        screens[index].watch = Stopwatch(startedAt: now)
        guard !screens[index].wasSeen else { return }
        screens[index].wasSeen = true
        outputs.append(.entered(name: screens[index].name, referrer: lastName, screens[index].properties))
        lastName = screens[index].name
    }

    private mutating func hide(_ index: Int, _ properties: Properties, at now: Duration, _ outputs: inout [Output]) {
        guard let watch = screens[index].watch else { return }
        screens[index].watch = nil
        outputs.append(.left(name: screens[index].name, watch.total(at: now), properties))
    }
}
