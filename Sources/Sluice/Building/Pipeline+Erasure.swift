// The removal of collected events and state.

extension Pipeline {
    /// Deletes all waiting events of all routes, including unreadable ones. The ledger counts them as ``DropReason/deleted``.
    /// Batches in flight are awaited first, and may be delivered. Dead letters stay: see ``discardDeadLetters(route:where:)``.
    ///
    /// - Returns: Whether every event that waited before the call is gone. It is false if the pipeline is shut down. It is also
    ///   false, with a diagnostic, if a transport calls this method in its own `send`, or if a store could not read or remove
    ///   something. In these two cases, call it later.
    @discardableResult
    public func deleteWaitingEvents() async -> Bool { await routes.all { await $0.deleteAll() } }

    /// Removes everything that this pipeline has collected: the state of its processors, waiting events, events that
    /// processors hold, and dead letters. Use it when a user asks for the removal of their data.
    ///
    /// ```swift
    /// let report = await pipeline.eraseEverything()
    /// if !report.isComplete { print("call eraseEverything() in the next launch too") }
    /// ```
    ///
    /// The processors forget their state first, so later events have the ids of a new user. Then events are removed as
    /// by ``deleteWaitingEvents()``: a batch in flight is awaited, and may be delivered. The user's answer in a `Consent`
    /// and the setting of `CollectionSettings` stay, and so does a state that a processor doesn't load in its
    /// ``Processor/prepare()``. Events that are tracked during the call can be removed too.
    ///
    /// - Returns: The counts of the removed events, dead letters and states.
    @discardableResult
    public func eraseEverything() async -> ErasureReport {
        if !path.isOpen { return ErasureReport(from: Ledger(), to: Ledger(), states: 0, isComplete: false) }
        let before = await routes.ledgerWithStores()
        // Without the pipeline: the thread can end after this method, and would keep the places of a pipeline that is released.
        let count = await Task.runningOnOwnThread(hasThreads: path.environment.hasThreads) { [chain, states] in
            chain.path.changingUser(by: nil) { Pipeline.forgetUser(chain, states) }
        }
        let areEventsGone = await routes.all { await $0.deleteAll(andLetters: true) }
        let (after, isComplete) = (await routes.ledgerWithStores(), count != nil && areEventsGone)
        return ErasureReport(from: before, to: after, states: count ?? 0, isComplete: isComplete).noting(after)
    }

    /// Erases single events for good, such as all events of one person: waiting events and dead letters, of this process and of
    /// earlier ones. The ledger counts them as ``DropReason/deleted``. The other events keep their order.
    ///
    /// ```swift
    /// let report = await pipeline.erase { $0.distinctID == "42" }
    /// for problem in report.left { print("call it later, too: \(problem)") }
    /// ```
    ///
    /// When this method returns, no erased event is sent any more, not even by a later process, except from the places in
    /// ``ErasureReport/left``. Batches in flight are awaited first, and may be delivered. Delivery pauses during the call;
    /// tracking doesn't. Events that are tracked during the call can be missed: stop tracking this person's events before it.
    ///
    /// - Parameter isMatch: Selects events. It is called on other threads, without a lock.
    /// - Returns: The counts, and the places where events are left. The folder of another running process is left to that
    ///   process. When it has ended, this pipeline erases in the folder before it delivers from it. The same holds for a folder
    ///   that can't be read now.
    public func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) async -> ErasureReport {
        await routes.erase(where: isMatch)
    }

    /// - Returns: The number of states that were stored; nil after a failure.
    private static func forgetUser(_ chain: Chain, _ states: StateGate) -> Int? {
        defer { for processor in chain.all.flatMap(\.processors) { processor.forget() } }
        do throws(SluiceError) {
            return try states.remove(forgetting: true)
        } catch {
            chain.path.report(.plugin, "the state of a plugin can't be erased: \(error)")
            return nil
        }
    }
}
