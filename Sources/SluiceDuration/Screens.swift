public import Sluice

/// Tracks which screens the user looks at, and for how long.
///
/// ```swift
/// let screens = Screens()
/// let pipeline = try Pipeline {
///     screens
///     …
/// }
/// let product = screens.enter("Product", ["sku": "A-7"])    // in viewDidAppear: $AppViewScreen
/// let reviews = screens.enter("Reviews", in: product)       // a child: both are visible
/// screens.leave(product)                                    // $AppPageLeave of Reviews, then of Product
/// ```
///
/// | event | properties |
/// |---|---|
/// | `$AppViewScreen` | `$screen_name`, `$referrer` (the screen that was entered before), and the screen's own |
/// | `$AppPageLeave` | `$screen_name`, `$event_duration` (the time for which the screen was visible) |
///
/// Screens are visible while the app is active, as the signals of the app say: before `didBecomeActive`, there are no
/// events. Entering the background leaves every visible screen, because the app may never return. When the app returns,
/// the time of these screens restarts from zero, without a second view. A screen that you enter before the app is active,
/// as during a launch, in a passive launch or before the pipeline is built, is viewed when it becomes active.
///
/// `Identity.reset()` and `erase()` leave the visible screens, with the ids of the former user. The next view has no
/// `$referrer`. A screen that you don't leave is viewed by the next user when the app becomes active the next time; until
/// then, it causes no events. The identity must stand in the same chain, or in the chain above the routes.
///
/// `AppSignals` of SluiceLifecycle reports the signals, or you call ``Sluice/Pipeline/signal(_:)``. A diagnostic
/// reports the first screen that you enter before any signal, or that has had no view when you leave it, when the user
/// changes, when the app enters the background or when the pipeline ends. After a passive launch, nothing is reported
/// until the app becomes active. After the end of the pipeline, events of screens are dropped and counted.
///
/// List `LifecycleEvents` above it: then `$AppStart` comes before the first view, and `$AppPageLeave` before `$AppEnd`.
///
/// You can call all methods from any thread. At most 100 screens are visible at a time. If you enter one more, the
/// oldest is left.
public final class Screens: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let measure: DurationMeasure
    private let table = Locked(ScreenTable())

    /// Creates a set of screens.
    ///
    /// - Parameters:
    ///   - countsSleep: Whether the sleep of the machine counts. Setting the wall clock never does.
    ///   - limit: The longest plausible duration. A longer one is left out of its event, and counted as
    ///     ``Sluice/Sanitization/overlongDuration``.
    public init(countsSleep: Bool = false, limit: Duration = .seconds(86_400)) {
        measure = DurationMeasure(countsSleep: countsSleep, limit: limit)
    }

    // MARK: Verbs

    /// Call this when a screen has become visible. The screens that you have entered before stay visible.
    ///
    /// ```swift
    /// let checkout = screens.enter("Checkout", ["items": 3])
    /// ```
    ///
    /// - Parameters:
    ///   - name: The screen's name.
    ///   - properties: The properties of the `$AppViewScreen`.
    ///   - parent: The screen that it is a part of, and with which it is left.
    /// - Returns: A token for ``leave(_:_:)-(DurationToken,_)``.
    @discardableResult
    public func enter(_ name: String, _ properties: PropertyLiteral = [:], in parent: DurationToken? = nil)
        -> DurationToken
    {
        DurationToken(name, update { $0.enter(name, properties.properties, in: parent?.id, at: $1, &$2) })
    }

    /// Call this when a screen has gone, and its children with it. Does nothing if it was left before.
    ///
    /// ```swift
    /// screens.leave(checkout, ["is_paid": true])
    /// ```
    ///
    /// - Parameters:
    ///   - token: The token from ``enter(_:_:in:)`` or ``show(_:_:)``.
    ///   - properties: The properties of the `$AppPageLeave`.
    public func leave(_ token: DurationToken, _ properties: PropertyLiteral = [:]) {
        update { $0.leave(token.id, properties.properties, at: $1, &$2) }
    }

    /// Leaves the screen of a name that was entered last.
    ///
    /// ```swift
    /// screens.leave("Checkout")
    /// ```
    ///
    /// - Parameters:
    ///   - name: The screen's name.
    ///   - properties: The properties of the `$AppPageLeave`.
    public func leave(_ name: String, _ properties: PropertyLiteral = [:]) {
        update { table, now, outputs in
            if let id = table.id(name) { table.leave(id, properties.properties, at: now, &outputs) }
        }
    }

    /// Leaves all screens and enters this one. Use it if you show one screen at a time.
    ///
    /// ```swift
    /// screens.show("Home")
    /// screens.show("Search")    // $AppPageLeave of Home, then $AppViewScreen of Search
    /// ```
    ///
    /// - Parameters:
    ///   - name: The screen's name.
    ///   - properties: The properties of the `$AppViewScreen`.
    /// - Returns: A token for ``leave(_:_:)-(DurationToken,_)``.
    @discardableResult
    public func show(_ name: String, _ properties: PropertyLiteral = [:]) -> DurationToken {
        let id = update { table, now, outputs in
            table.leaveAll(at: now, &outputs)
            return table.enter(name, properties.properties, in: nil, at: now, &outputs)
        }
        return DurationToken(name, id)
    }

    private func update<Result>(_ body: (inout ScreenTable, Duration, inout [ScreenTable.Output]) -> Result) -> Result {
        let now = measure.now(context)
        var outputs: [ScreenTable.Output] = []
        let result = table.withLock { body(&$0, now, &outputs) }
        for output in outputs { track(output) }
        return result
    }

    private func track(_ output: ScreenTable.Output) {
        switch output {
        case .entered(let name, let referrer, var properties):
            properties["$screen_name"] = .string(name)
            if let referrer { properties["$referrer"] = .string(referrer) }
            context.track("$AppViewScreen", properties)
        case .left(let name, let duration, var properties):
            properties["$screen_name"] = .string(name)
            context.track("$AppPageLeave", properties) { measure.write(duration, to: &$0) }
        case .unseen:
            guard context.isOpen, table.withLock({ $0.isFirstUnseen() }) else { return }
            context.report(
                "a screen has no view before a signal says that the app is active (reported once): create "
                    + "AppSignals(to: pipeline), or call pipeline.signal(.didBecomeActive)")
        }
    }

    // MARK: Processor

    /// Checks the limit.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the limit is not positive.
    public func prepare() throws {
        try DurationMeasure.validate(measure.limit, "limit")
        table.withLock { $0.prepare() }
    }

    /// Keeps the event unchanged.
    public func process(_ event: inout Event) -> Disposition { .keep }

    /// Tracks the views and the ends of views that a signal causes.
    public func emit(for signal: Signal) {
        switch signal.kind {
        case .launched(let launch): table.withLock { $0.launch(isPassive: launch.isPassive) }
        case .didEnterBackground, .willTerminate: update { $0.disappear(at: $1, &$2) }
        case .didBecomeActive: update { $0.appear(at: $1, &$2) }
        case .userWillChange: update { $0.changeUser(at: $1, &$2) }
        case .willResignActive, .connectivity: break
        }
    }

    /// Tracks the ends of views. Later views are dropped and counted, as other events after the end.
    public func finish() async { update { $0.finish(at: $1, &$2) } }

    /// Forgets the screens that the user has seen, without events. The next view has no `$referrer`.
    public func forget() {
        var outputs: [ScreenTable.Output] = []
        table.withLock { $0.changeUser(at: .zero, &outputs) }
    }
}
