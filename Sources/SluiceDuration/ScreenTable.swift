import Sluice

/// The entered screens, in the order of their entries. This is a pure value, and each method gets the time.
struct ScreenTable {
    /// The limit for a host that never leaves its screens.
    static let maximumCount = 100

    enum Output {
        case entered(name: String, referrer: String?, Properties)
        case left(name: String, Duration, Properties)
        /// A screen has no view, because no signal says that the app is active.
        case unseen
    }

    /// The app according to the signals: nothing is known yet, that it is going to become active, that it was launched in the
    /// background and may never become active, or that it is active.
    private enum Phase { case unknown, inactive, passive, active }

    private enum View { case missing, tracked, ofFormerUser }

    private struct Screen {
        let id: UInt64
        let name: String
        let parent: UInt64?
        let properties: Properties
        /// Nil while the screen is not visible.
        var watch: Stopwatch?
        var view = View.missing
    }

    private var screens: [Screen] = []
    private var phase = Phase.unknown
    private var lastName: String?
    private var isUnseenReported = false

    mutating func launch(isPassive: Bool) { if phase == .unknown { phase = isPassive ? .passive : .inactive } }

    /// Call this for a new pipeline, whose signals are yet to come.
    mutating func prepare() {
        phase = .unknown
        for index in screens.indices { screens[index].watch = nil }
    }

    /// Ends the views. Later ones are tracked, because the pipeline counts them with the other late events.
    mutating func finish(at now: Duration, _ outputs: inout [Output]) {
        disappear(at: now, &outputs)
        phase = .active
    }

    /// Whether an unseen screen is the first one that is reported.
    mutating func isFirstUnseen() -> Bool {
        defer { isUnseenReported = true }
        return !isUnseenReported
    }

    mutating func enter(
        _ name: String, _ properties: Properties, in parent: UInt64?, at now: Duration, _ outputs: inout [Output]
    ) -> UInt64 {
        if screens.count >= ScreenTable.maximumCount { leave(screens[0].id, [:], at: now, &outputs) }
        let id = DurationToken.newID()
        screens.append(Screen(id: id, name: name, parent: parent, properties: properties))
        // Without any signal, a process can end before the screen does. With one, the screen can wait for the next.
        if phase == .unknown { outputs.append(.unseen) }
        if phase == .active { see(screens.count - 1, at: now, &outputs) }
        return id
    }

    /// Leaves a screen. Its children are left first, in the reverse order of their entries.
    mutating func leave(_ id: UInt64, _ properties: Properties, at now: Duration, _ outputs: inout [Output]) {
        guard let index = screens.firstIndex(where: { $0.id == id }) else { return }
        for child in screens.filter({ $0.parent == id }).reversed() { leave(child.id, [:], at: now, &outputs) }
        hide(index, properties, at: now, &outputs)
        reportUnseen([screens.remove(at: index)], &outputs)
    }

    mutating func leaveAll(at now: Duration, _ outputs: inout [Output]) {
        for screen in screens.reversed() { leave(screen.id, [:], at: now, &outputs) }
    }

    /// Returns the screen of a name that was entered last.
    func id(_ name: String) -> UInt64? { screens.last { $0.name == name }?.id }

    mutating func disappear(at now: Duration, _ outputs: inout [Output]) {
        if phase != .passive { phase = .inactive }
        for index in screens.indices.reversed() { hide(index, [:], at: now, &outputs) }
        reportUnseen(screens, &outputs)
    }

    mutating func appear(at now: Duration, _ outputs: inout [Output]) {
        guard phase != .active else { return }
        phase = .active
        for index in screens.indices { see(index, at: now, &outputs) }
    }

    /// Leaves the visible screens, and forgets the last one, because the user changes. A screen that is still entered when
    /// the app becomes active the next time is viewed by the next user.
    mutating func changeUser(at now: Duration, _ outputs: inout [Output]) {
        reportUnseen(screens, &outputs)
        for index in screens.indices.reversed() {
            hide(index, [:], at: now, &outputs)
            if screens[index].view == .tracked { screens[index].view = .ofFormerUser }
        }
        lastName = nil
    }

    private func reportUnseen(_ screens: [Screen], _ outputs: inout [Output]) {
        if phase != .passive, screens.contains(where: { $0.view == .missing }) { outputs.append(.unseen) }
    }

    /// Makes a screen visible. Returning to a screen isn't an entry.
    private mutating func see(_ index: Int, at now: Duration, _ outputs: inout [Output]) {
        screens[index].watch = Stopwatch(startedAt: now)
        guard screens[index].view != .tracked else { return }
        screens[index].view = .tracked
        outputs.append(.entered(name: screens[index].name, referrer: lastName, screens[index].properties))
        lastName = screens[index].name
    }

    private mutating func hide(_ index: Int, _ properties: Properties, at now: Duration, _ outputs: inout [Output]) {
        guard let watch = screens[index].watch else { return }
        screens[index].watch = nil
        outputs.append(.left(name: screens[index].name, watch.total(at: now), properties))
    }
}
