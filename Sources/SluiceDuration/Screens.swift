public import Sluice

/// Tracks which screens are looked at, and for how long.
///
/// ```swift
/// let screens = Screens()
/// let pipeline = try Pipeline {
///     screens
///     …
/// }
/// let product = screens.enter("Product", ["sku": "A-7"])    // in viewDidAppear: $AppViewScreen
/// let reviews = screens.enter("Reviews", in: product)       // a child: both are on display
/// screens.leave(product)                                    // $AppPageLeave of Reviews, then of Product
/// ```
///
/// `$AppViewScreen` has the `$screen_name`, the `$referrer`, which is the screen that was entered before, and the
/// screen's own properties; `$AppPageLeave` has the `$screen_name` and the `$event_duration` in which it was on display.
///
/// In the background nobody looks: entering it leaves every screen that is on display, also the last one, since the app
/// may never come back. If it does, the time of those screens starts anew, and no second view is counted. A screen that
/// is entered in the background, as by a passive launch, counts as viewed when the app becomes active.
///
/// All verbs may be called from any thread. At most 100 screens are on display at a time; the oldest is then left.
public final class Screens: Processor {
    public static var isUnique: Bool { true }

    /// One entry of a screen, told from others of the same name.
    public struct Visit: Sendable, Hashable {
        let id: UInt64
    }

    private struct State {
        var table = ScreenTable()
        var outlets: [EventOutlet] = []
    }

    private let measure: DurationMeasure
    private let state = Locked(State())

    /// - Parameter measure: how durations are measured and written.
    public init(_ measure: DurationMeasure = .standard) {
        self.measure = measure
    }

    // MARK: Verbs

    /// A screen has come on display, beside those that are.
    ///
    /// - Parameters:
    ///   - name: the screen's.
    ///   - properties: of the `$AppViewScreen`.
    ///   - parent: the screen of which it is a part, and with which it is left.
    @discardableResult
    public func enter(_ name: String, _ properties: Properties = [:], in parent: Visit? = nil) -> Visit {
        Visit(id: update { $0.enter(name, properties, in: parent?.id, at: $1, &$2) })
    }

    /// A screen has gone, and its children with it. Without effect if it went before.
    ///
    /// - Parameters:
    ///   - visit: what ``enter(_:_:in:)`` or ``show(_:_:)`` returned.
    ///   - properties: of the `$AppPageLeave`.
    public func leave(_ visit: Visit, _ properties: Properties = [:]) {
        update { $0.leave(visit.id, properties, at: $1, &$2) }
    }

    /// The same, for the screen of that name that was entered last.
    public func leave(_ name: String, _ properties: Properties = [:]) {
        update { table, now, outputs in
            if let id = table.id(name) { table.leave(id, properties, at: now, &outputs) }
        }
    }

    /// This screen, and no other, is on display now: for hosts that show one at a time.
    @discardableResult
    public func show(_ name: String, _ properties: Properties = [:]) -> Visit {
        Visit(
            id: update { table, now, outputs in
                table.leaveAll(at: now, &outputs)
                return table.enter(name, properties, in: nil, at: now, &outputs)
            })
    }

    private func update<Result>(_ body: (inout ScreenTable, Duration, inout [ScreenTable.Output]) -> Result) -> Result {
        let now = measure.now
        var outputs: [ScreenTable.Output] = []
        let (result, outlets) = state.withLock { (body(&$0.table, now, &outputs), $0.outlets) }
        for output in outputs {
            for outlet in outlets { track(output, outlet) }
        }
        return result
    }

    private func track(_ output: ScreenTable.Output, _ outlet: EventOutlet) {
        switch output {
        case .entered(let name, let referrer, var properties):
            properties["$screen_name"] = .string(name)
            if let referrer { properties["$referrer"] = .string(referrer) }
            outlet.track("$AppViewScreen", properties)
        case .left(let name, let duration, var properties):
            properties["$screen_name"] = .string(name)
            outlet.track("$AppPageLeave", properties) { measure.write(duration, to: &$0) }
        }
    }

    // MARK: Processor

    public func attach(to outlet: EventOutlet) throws {
        state.withLock { $0.outlets.append(outlet) }
    }

    public func process(_ event: inout Event) -> Disposition { .keep }

    public func receive(_ signal: Signal) {
        switch signal {
        case .launched(.passive), .didEnterBackground, .willTerminate: update { $0.disappear(at: $1, &$2) }
        case .didBecomeActive: update { $0.appear(at: $1, &$2) }
        case .launched(.foreground), .willResignActive, .connectivity: break
        }
    }
}
