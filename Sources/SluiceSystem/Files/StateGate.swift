package import SluiceEvents

/// A state that a plugin keeps for the next launch, as its ``StateGate`` sees it.
package protocol KeptState: AnyObject, Sendable {
    /// Combines the value in memory with the stored one, and stores it. Called when the gate has been opened. Reports
    /// failures itself.
    func keep()

    /// Removes what is stored. The value in memory stays, unless it is forgotten too.
    ///
    /// - Returns: The number of states that were stored.
    func remove(forgetting: Bool) throws(SluiceError) -> Int

    /// Whether it is being written in the background.
    var isWriting: Bool { get }

    /// Passes the event that joins the user's ids to a receiver that missed it, if there is such an event.
    ///
    /// - Parameters:
    ///   - isHeld: Returns whether the receiver has the event with this id, because it was held.
    ///   - deliver: Returns whether the event is stored.
    /// - Returns: False if the event could not be stored.
    func join(_ isHeld: (EventID) -> Bool, _ deliver: (Event) -> Bool) -> Bool
}

extension KeptState {
    /// There is no such event.
    package func join(_ isHeld: (EventID) -> Bool, _ deliver: (Event) -> Bool) -> Bool { true }
    /// False: it is written by its caller.
    package var isWriting: Bool { false }
}

/// Decides whether the plugins of a chain may store their state, and reaches all of it.
///
/// A pipeline has one gate, which is always open. A processor that asks for consent has one of its own below it, and so
/// does each route. A state finds its gate when it is loaded while the pipeline prepares its plugin.
package final class StateGate: KeptState {
    private struct State {
        /// Weak, because states refer to their gate.
        var states: [() -> (any KeptState)?] = []
        weak var above: StateGate?
        /// In a gate below no other: the places of all states of the pipeline.
        var claims: [Claim] = []
    }

    /// A state in its places, such as the paths of files.
    private struct Claim {
        let names: [String]
        let owner: () -> (any KeptState)?
        /// The gate that decides about it, if other objects behind that gate can share it.
        let sharer: (() -> StateGate?)?
    }

    /// The gate of the plugin that is being prepared, or of the pipeline while its routes are opened.
    @TaskLocal package static var current: StateGate?

    private let reason: @Sendable () -> DropReason?
    private let owesRemoval: @Sendable () -> Bool
    private let owesJoin: @Sendable () -> Bool
    /// The gate that decides for this one; nil if it decides itself.
    private let model: StateGate?
    private let state = Locked(State())

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - reason: Returns why nothing may be stored now; nil if the gate is open. It is called without a lock.
    ///   - owesRemoval: Returns whether stored states must be removed when they find the closed gate, because nothing was
    ///     in a pipeline when it was closed.
    ///   - owesJoin: Returns whether the receiver still misses the event that joins the user's ids.
    ///   - model: The gate that the closures belong to; nil for this one.
    package init(
        closedBecause reason: @escaping @Sendable () -> DropReason? = { nil },
        owesRemoval: @escaping @Sendable () -> Bool = { false },
        owesJoin: @escaping @Sendable () -> Bool = { false }, decidedBy model: StateGate? = nil
    ) {
        (self.reason, self.owesRemoval, self.owesJoin, self.model) = (reason, owesRemoval, owesJoin, model)
    }

    /// Creates a gate that is open if another one is, which it stands below.
    package convenience init(like gate: StateGate) {
        self.init(closedBecause: gate.reason, owesRemoval: gate.owesRemoval, decidedBy: gate.model ?? gate)
        stand(below: gate)
    }

    /// Why nothing may be stored now; nil if the gate is open.
    package var refusal: DropReason? { reason() }

    package var isOpen: Bool { reason() == nil }

    /// Whether a state that finds the gate must be removed.
    package var mustRemove: Bool { !isOpen && owesRemoval() }

    package var isWriting: Bool { states.contains(where: \.isWriting) }

    /// Waits until the states are written, for about a second at most: a disk can hang.
    package func waitForWrites() {
        for _ in 0..<1_000 where isWriting { SystemFileSystem.pause() }
    }

    /// Whether it stands below another gate.
    package var isInPipeline: Bool { state.withLock { $0.above != nil } }

    /// Forgets the states of an earlier pipeline, and takes the place below another gate.
    package func stand(below gate: StateGate) {
        state.withLock { $0 = State(above: gate) }
        gate.add(self)
    }

    package func add(_ new: any KeptState) {
        state.withLock { state in
            state.states.removeAll { [nil, ObjectIdentifier(new)].contains($0().map { ObjectIdentifier($0) }) }
            state.states.append { [weak new] in new }
        }
    }

    /// Adds a plugin that works with a copy of its state, and whose ``keep()`` only takes over the stored value.
    ///
    /// Below an open gate, it has the value already. It would have a weak reference for nothing, which slows down each retain
    /// and release of the plugin.
    package func addReader(_ new: any KeptState) { if !isOpen { add(new) } }

    /// Notes under which names, such as paths of files, a state is kept. One place has one owner.
    ///
    /// Objects that share their state can have it together if they have the same gate, because a denial removes the state of
    /// all of them.
    ///
    /// - Throws: ``SluiceError/Code/invalidPipeline`` if another plugin of the pipeline keeps its state there. Each would
    ///   overwrite or remove what the other one has stored: one route's consent would be that of another one in the next
    ///   launch.
    package func claim(_ names: [String], for new: any KeptState, isShared: Bool = false) throws(SluiceError) {
        let decider = model ?? self
        try claim(
            Claim(names: names, owner: { [weak new] in new }, sharer: isShared ? { [weak decider] in decider } : nil))
    }

    private func claim(_ new: Claim) throws(SluiceError) {
        if let above = state.withLock(\.above) { return try above.claim(new) }
        let others = state.withLock { state in
            state.claims.removeAll { claim in claim.owner().map { $0 === new.owner() } ?? true }
            defer { state.claims.append(new) }
            return state.claims
        }
        let files = SystemFileSystem()
        for other in others {
            // By the directories, which can have several paths.
            let taken = Set(other.names.map { FilePath.identity(of: $0, in: files) })
            guard let name = new.names.first(where: { taken.contains(FilePath.identity(of: $0, in: files)) }) else {
                continue
            }
            guard let sharer = new.sharer, let otherSharer = other.sharer else {
                throw SluiceError(
                    .invalidPipeline, "two plugins keep their state in \(name): give each a directory of its own")
            }
            guard sharer() === otherSharer() else {
                throw SluiceError(
                    .invalidPipeline,
                    "two plugins share their state in \(name), and a Consent decides about one of them only: give each a "
                        + "directory of its own, or list one Consent above the routes")
            }
        }
    }

    private var states: [any KeptState] { state.withLock(\.states).compactMap { $0() } }

    /// Whether a receiver below this gate gets no events for now, or still misses the event that joins the user's ids.
    package var hasWaitingReceivers: Bool {
        states.contains { state in (state as? StateGate).map { !$0.isOpen || $0.owesJoin() } ?? false }
    }

    /// Stores the states of an open gate. Call this when it has been opened.
    package func keep() {
        guard isOpen else { return }
        for state in states { state.keep() }
    }

    /// Removes all states, even if one of them fails.
    package func remove(forgetting: Bool) throws(SluiceError) -> Int {
        var count = 0
        var failure: SluiceError?
        for state in states {
            do throws(SluiceError) {
                count += try state.remove(forgetting: forgetting)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return count
    }

    /// Passes the events that join ids, of this gate's own states and of the states above it.
    ///
    /// - Parameters:
    ///   - isHeld: Returns whether the receiver has the event with this id, because it was held.
    ///   - deliver: Gets whether the event comes from this gate's own chain. Returns whether it is stored.
    /// - Returns: False if an event could not be stored.
    package func join(
        except isHeld: (EventID) -> Bool, _ deliver: (_ event: Event, _ isOwn: Bool) -> Bool
    ) -> Bool {
        let above = state.withLock(\.above)?.states ?? []
        return states.allSatisfy { $0 is StateGate || $0.join(isHeld) { deliver($0, true) } }
            && above.allSatisfy { $0 is StateGate || $0.join(isHeld) { deliver($0, false) } }
    }
}
