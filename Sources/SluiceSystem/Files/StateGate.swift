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
}

extension KeptState {
    /// False: it is written by its caller.
    package var isWriting: Bool { false }
}

/// Decides whether the plugins of a chain may store their state, and reaches all of it.
///
/// A pipeline has one gate, which is always open. A processor that asks for consent has one of its own below it, and so
/// does each route. A state finds its gate when it is loaded while the pipeline prepares its plugin.
package final class StateGate: KeptState {
    /// Whether states may be stored.
    package enum Answer: Sendable {
        case open
        /// States may be stored, but the receiver still misses events of the time before.
        case openLate
        /// Nothing may be stored, for this reason. States that find the gate must be removed if nothing was in a pipeline when it
        /// was closed.
        case closed(DropReason, owesRemoval: Bool)
    }

    private struct State {
        /// Weak, because states refer to their gate. Some are kept without consent, and are only waited for.
        var states: [(state: () -> (any KeptState)?, isGated: Bool)] = []
        weak var above: StateGate?
        /// Whether it is the gate of a pipeline that has claims.
        var hasClaims = false
    }

    /// The gate of the plugin that is being prepared, or of the pipeline while its routes are opened.
    @TaskLocal package static var current: StateGate?

    private let answer: @Sendable () -> Answer
    /// The gate that decides for this one; nil if it decides itself.
    private let model: StateGate?
    private let state = Locked(State())

    /// Creates a gate that `answer` decides about. It is called without a lock. `model` is the gate that it belongs to; nil for
    /// this one.
    package init(model: StateGate? = nil, _ answer: @escaping @Sendable () -> Answer = { .open }) {
        (self.answer, self.model) = (answer, model)
    }

    /// Creates a gate that is open if another one is, which it stands below. No receiver is late behind it.
    package convenience init(like gate: StateGate) {
        self.init(model: gate.model ?? gate) { [answer = gate.answer] in
            if case .closed(let reason, let owesRemoval) = answer() { return .closed(reason, owesRemoval: owesRemoval) }
            return .open
        }
        stand(below: gate)
    }

    /// Why nothing may be stored now; nil if the gate is open.
    package var refusal: DropReason? { if case .closed(let reason, _) = answer() { reason } else { nil } }

    package var isOpen: Bool { refusal == nil }

    /// Whether a state that finds the gate must be removed.
    package var mustRemove: Bool { if case .closed(_, owesRemoval: true) = answer() { true } else { false } }

    package var isWriting: Bool { state.withLock(\.states).contains { $0.state()?.isWriting == true } }

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

    package func add(_ new: any KeptState, isGated: Bool = true) {
        state.withLock { state in
            state.states.removeAll { [nil, ObjectIdentifier(new)].contains($0.state().map { ObjectIdentifier($0) }) }
            state.states.append(({ [weak new] in new }, isGated))
        }
    }

    /// Adds a plugin that works with a copy of its state, and whose ``keep()`` only takes over the stored value.
    ///
    /// Below an open gate, it has the value already. It would have a weak reference for nothing, which slows down each retain
    /// and release of the plugin.
    package func addReader(_ new: any KeptState) { if !isOpen { add(new) } }

    /// The gate of the pipeline.
    package var top: StateGate { state.withLock(\.above)?.top ?? self }

    /// Claims the places of a state for this pipeline, until ``release()``. One place has one owner in a process.
    ///
    /// Objects that share their state can all claim its places if they have the same gate, because a denial removes the
    /// state of all of them.
    ///
    /// - Parameters:
    ///   - names: Where the state is kept, such as paths of files.
    ///   - owner: The state. It has one gate.
    ///   - isShared: Whether its objects share it.
    ///   - isGated: Whether this gate decides about it. Otherwise, it is kept without consent.
    /// - Returns: Whether the claim is new.
    /// - Throws: ``SluiceError/Code/invalidPipeline`` if another state of a living pipeline is kept there. Each would overwrite or
    ///   remove the other one's values, and would not see a denial by the other one.
    @discardableResult
    package func claim(
        _ names: [String], for owner: any KeptState, isShared: Bool = false, isGated: Bool = true
    ) throws(SluiceError) -> Bool {
        let top = top
        let (isNew, conflict) = Claim(
            names: Claim.places(names), owner: owner, pipeline: ObjectIdentifier(top),
            gate: isGated ? ObjectIdentifier(model ?? self) : nil, isShared: isShared
        ).make()
        guard let conflict else {
            top.state.withLock { $0.hasClaims = true }
            return isNew
        }
        let problem =
            if isShared, conflict.claim.isShared {
                "two plugins share their state in \(conflict.place), and a Consent decides about one of them only: list one "
                    + "Consent above the routes, or"
            } else if conflict.claim.owner === owner {
                "one object keeps the state in \(conflict.place) for two pipelines, or behind two Consents: make two objects, and"
            } else if conflict.claim.pipeline == ObjectIdentifier(top) {
                "two plugins keep their state in \(conflict.place):"
            } else {
                "another pipeline of this process keeps its state in \(conflict.place): shut it down or release it before, or"
            }
        throw SluiceError(.invalidPipeline, "\(problem) give each a directory of its own")
    }

    /// Checks that no pipeline has the places of a state, except for the one in which it stands. Call this before a change.
    ///
    /// - Throws: ``SluiceError/Code/invalidPipeline`` otherwise: the pipeline would not see the change.
    package static func requireFree(
        _ names: @autoclosure () -> [String], in pipeline: StateGate?, isShared: Bool = false
    ) throws(SluiceError) {
        if pipeline?.state.withLock(\.hasClaims) == true { return }
        let change = Claim(names: Claim.places(names()), owner: nil, pipeline: nil, isShared: isShared)
        guard let conflict = change.make().conflict else { return }
        throw SluiceError(
            .invalidPipeline,
            "a pipeline of this process keeps its state in \(conflict.place): change it with the object that stands in that "
                + "pipeline, or shut the pipeline down before")
    }

    /// Claims objects for this pipeline, until ``release()``.
    ///
    /// - Returns: The index of the first one that another living pipeline has. Then no object is claimed.
    package func claim(_ objects: [ObjectIdentifier]) -> Int? {
        let names = objects.map { (key: Claim.Key.object($0), name: "") }
        return Claim(names: names, owner: self, pipeline: ObjectIdentifier(self)).make().conflict?.index
    }

    /// Frees everything that the pipeline has claimed.
    package func release() {
        state.withLock { $0.hasClaims = false }
        Claim.end(of: self)
    }

    private var states: [any KeptState] { state.withLock(\.states).compactMap { $0.isGated ? $0.state() : nil } }

    /// The states of this gate, and of the gate above it.
    package var reachable: (own: [any KeptState], above: [any KeptState]) {
        (states, state.withLock(\.above)?.states ?? [])
    }

    /// Whether a receiver below this gate gets no events for now, or still misses some.
    package var hasWaitingReceivers: Bool {
        states.contains { state in
            guard let gate = state as? StateGate else { return false }
            if case .open = gate.answer() { return false }
            return true
        }
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
            let error = SluiceError.of(try count += state.remove(forgetting: forgetting))
            failure = failure ?? error
        }
        if let failure { throw failure }
        return count
    }
}
