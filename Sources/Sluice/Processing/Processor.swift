/// Synchronous middleware: sees every event on its way to the store, and can change it, drop it or hold it back.
///
/// ```swift
/// /// Adds the shop's currency to every event that has a price.
/// struct Currency: Processor {
///     let code: String
///
///     func process(_ event: inout Event) -> Disposition {
///         if event.properties["price"] != nil { event.properties["currency"] = .string(code) }
///         return .keep
///     }
/// }
/// ```
///
/// ## Conforming
/// - Return quickly from ``process(_:)``. It runs on the caller's thread inside `track`, on any number of threads at
///   the same time. Don't wait in it. Don't call ``PluginContext/track(_:_:priority:configure:)-(_,Properties,_,_)``
///   from it.
/// - When you truncate or remove something, call ``Event/report(_:)``. The ledger then counts it.
/// - Keep state under a lock of your own, usually in a `final class`. A processor without state is a `struct`.
/// - Declare `let context = PluginContext()` to make events, to hold events back, or to read the clocks.
/// - Make the plugin's verbs, such as `login` or `start`, methods that your host calls on the plugin.
/// - Check your processor with `ProcessorContract` of SluiceTesting.
public protocol Processor: Sendable {
    /// Changes an event, drops it, or holds it back. Processors run in the order of their lines in the builder.
    ///
    /// - Parameter event: The event, as the processors above have left it.
    /// - Returns: Whether the event continues.
    func process(_ event: inout Event) -> Disposition

    /// ``PluginContext`` for a processor that needs one, and Void for all others.
    associatedtype Context = Void

    /// The processor's connection to its pipeline. Declare `let context = PluginContext()` if you
    /// need it.
    var context: Context { get }

    /// Called once for each pipeline that is built with this processor, before any event of the host. The context is
    /// connected already. Validate arguments and load state here.
    ///
    /// ```swift
    /// struct Sampling: Processor {
    ///     let rate: Double
    ///
    ///     func process(_ event: inout Event) -> Disposition { .keep }
    ///
    ///     func prepare() throws {
    ///         guard (0...1).contains(rate) else {
    ///             throw SluiceError(.invalidArgument, "rate must lie between 0 and 1, not \(rate)")
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// - Throws: Any error that makes the processor unusable. Building the pipeline then throws a ``SluiceError`` with
    ///   the name of the processor's type.
    func prepare() throws

    /// Updates the processor's state for a signal. Don't track events here: other processors may not have been updated.
    ///
    /// - Parameter signal: The signal, on the thread that the host reports it on.
    func update(for signal: Signal)

    /// Tracks the events that a signal causes. See ``Pipeline/signal(_:)`` for the order.
    ///
    /// - Parameter signal: The signal, on the thread that the host reports it on.
    func emit(for signal: Signal)

    /// Tracks the processor's last events and writes its state. ``Pipeline/shutdown(timeout:)`` calls it once, before it
    /// closes the pipeline and sends the waiting events.
    ///
    /// ```swift
    /// /// Tracks how long the pipeline was in use.
    /// final class Uptime: Processor {
    ///     let context = PluginContext()
    ///     private let begin = ContinuousClock.now
    ///
    ///     func process(_ event: inout Event) -> Disposition { .keep }
    ///
    ///     func finish() async {
    ///         context.track("End", ["seconds": .int((ContinuousClock.now - begin).components.seconds)])
    ///     }
    /// }
    /// ```
    ///
    /// Wait for the state of your plugin here, if it has one: see ``PersistedState``.
    ///
    /// Within a chain, processors finish one after the other, from the last line to the first, as they do for a signal of
    /// leaving. Chains finish at the same time, so a route never waits for the processors of another one. At most half of
    /// the time of the shutdown is for this, so return soon.
    ///
    /// A processor can get events of other processors after it has finished. A ``PersistedState`` then writes each change
    /// before it returns.
    func finish() async

    /// Forgets the user: what the processor has collected and keeps in memory. ``Pipeline/eraseEverything()`` calls it, from
    /// any thread, when it has erased the processor's ``PersistedState``s.
    ///
    /// ```swift
    /// /// Adds the last search to every event.
    /// final class LastSearch: Processor {
    ///     private let text = Locked<PropertyValue?>(nil)
    ///
    ///     func process(_ event: inout Event) -> Disposition {
    ///         event.properties["last_search"] = text.withLock { text in
    ///             if event.name == "Search" { text = event.properties["text"] }
    ///             return text
    ///         }
    ///         return .keep
    ///     }
    ///
    ///     func forget() { text.withLock { $0 = nil } }
    /// }
    /// ```
    func forget()

    /// Whether it is always a mistake that an event passes two processors of this type. False by default. If it is true, list
    /// one above the routes, or one in each route that needs it. Listing one object twice is always a mistake.
    static var isUnique: Bool { get }
}

extension Processor where Context == Void {
    /// No context.
    public var context: Void { () }
}

extension Processor {
    /// Does nothing.
    public func prepare() throws {}

    /// Does nothing.
    ///
    /// - Parameter signal: The signal.
    public func update(for signal: Signal) {}

    /// Does nothing.
    ///
    /// - Parameter signal: The signal.
    public func emit(for signal: Signal) {}

    /// Does nothing.
    public func finish() async {}

    /// Does nothing.
    public func forget() {}

    /// Returns false.
    public static var isUnique: Bool { false }
}

/// A processor that can close its chain. Then no event passes, not even events that don't pass the processor itself: those that
/// plugins make in the routes below, insert, or have held.
package protocol Gatekeeper: Processor {
    /// Answers for such an event, which it doesn't change. To hold it, its plugin does: see ``PluginContext/hold(_:)``.
    func admit(_ event: PluginEvent) -> Disposition
}

extension Gatekeeper {
    /// Gives the same answer as for the host's events.
    package func admit(_ event: PluginEvent) -> Disposition {
        var event = event.event
        return process(&event)
    }
}

/// A gatekeeper that also decides whether the plugins of its chain may store their state.
package protocol StateKeeper: Gatekeeper {
    /// Returns the gate of the chain that the processor stands in, and of the routes of that chain. Called once for each
    /// pipeline, before the chain's first processor is prepared.
    func gate(below gate: StateGate) throws -> StateGate
}

/// The answer of a processor: whether an event continues.
public struct Disposition: Sendable, Hashable {
    @usableFromInline package enum Kind: Sendable, Hashable {
        case keep, hold
        case drop(DropReason)
    }

    @usableFromInline package let kind: Kind

    // Inlinable, because each stage of each event makes one.
    @inlinable package init(kind: Kind) {
        self.kind = kind
    }

    /// The event continues to the next stage.
    @inlinable public static var keep: Disposition { Disposition(kind: .keep) }

    /// The event ends here, and the ledger counts the reason.
    ///
    /// ```swift
    /// func process(_ event: inout Event) -> Disposition {
    ///     event.name.hasPrefix("Debug") ? .drop(DropReason(rawValue: "debug")) : .keep
    /// }
    /// ```
    public static func drop(_ reason: DropReason) -> Disposition { Disposition(kind: .drop(reason)) }

    /// The event waits: see ``PluginContext/hold(_:)``.
    package static var hold: Disposition { Disposition(kind: .hold) }

    /// The reason if the event ends; otherwise nil.
    public var dropReason: DropReason? { if case .drop(let reason) = kind { reason } else { nil } }

    /// Whether a processor holds the event.
    public var isHold: Bool { kind == .hold }
}

extension Signal {
    /// Gives this signal to processors, in two passes: see ``Pipeline/signal(_:)``. A change that a signal of leaving announces
    /// is made between them.
    func deliver(to processors: [any Processor], announcing change: () -> Void = {}) {
        if isLeaving {
            for processor in processors.reversed() { processor.emit(for: self) }
            change()
            for processor in processors { processor.update(for: self) }
        } else {
            for processor in processors { processor.update(for: self) }
            for processor in processors { processor.emit(for: self) }
        }
    }
}

/// A state with an event that each receiver must get once, also a receiver that gets events late.
package protocol EventRepeating: KeptState {
    /// Passes the event to a receiver that missed it, if there is one.
    ///
    /// - Parameters:
    ///   - isHeld: Returns whether the receiver has the event with this id, because it was held.
    ///   - deliver: Returns whether the event is stored.
    /// - Returns: False if the event could not be stored.
    func repeats(except isHeld: (EventID) -> Bool, _ deliver: (Event) -> Bool) -> Bool
}
