/// The routes of a pipeline, which work at the same time.
///
/// The child of a `fork` has no routes: they stay with the parent.
struct Routes: Sendable {
    let list: [RouteRuntime]
    let path: EventPath

    private var own: [RouteRuntime] { path.isInherited ? [] : list }

    /// Returns the route with that name, or all of them.
    ///
    /// - Throws: ``SluiceError/Code/invalidArgument`` if the pipeline has no route with that name.
    func named(_ name: String?) throws(SluiceError) -> [RouteRuntime] {
        if path.isInherited {
            throw SluiceError(
                .shutDown, "the pipeline belongs to the parent of this process: build pipelines after a fork")
        }
        guard let name else { return list }
        let named = list.filter { $0.name == name }
        guard !named.isEmpty else { throw SluiceError(.invalidArgument, "there is no route named \"\(name)\"") }
        return named
    }

    /// Adds up a count of dead letters of the route with that name, or of all routes.
    func sum(
        _ name: String?, _ count: (RouteRuntime) async throws(SluiceError) -> Int
    ) async throws(SluiceError) -> Int {
        var sum = 0
        for route in try named(name) { sum += try await count(route) }
        return sum
    }

    func each<Failure: Error>(_ body: (RouteRuntime) throws(Failure) -> Void) throws(Failure) {
        for route in own { try body(route) }
    }

    /// Runs `body` for all routes at the same time, and combines the results, beginning with `first`.
    func combine<Value: Sendable>(
        _ first: Value, _ combine: (Value, Value) -> Value, _ body: @escaping @Sendable (RouteRuntime) async -> Value
    ) async -> Value {
        await withTaskGroup(of: Value.self) { group in
            for route in own { group.addTask { await body(route) } }
            return await group.reduce(first) { combine($0, $1) }
        }
    }

    /// Runs `body` for all routes at the same time, and returns whether all of them succeeded.
    func all(_ body: @escaping @Sendable (RouteRuntime) async -> Bool) async -> Bool {
        await combine(!path.isInherited, { $0 && $1 }, body)
    }

    /// Erases the selected events of all routes.
    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) async -> ErasureReport {
        let left = path.isInherited ? ["the events belong to the parent of this process: erase there"] : []
        return await combine(ErasureReport(left: left), +) { await $0.erase(where: isMatch) }.noting(ledger())
    }

    /// The counts of the routes. If it asks the stores for theirs too, it can wait for a disk.
    func ledger(asksStore: Bool = false) -> Ledger { path.ledger(own.map { $0.ledger(asksStore: asksStore) }) }

    func ledgerWithStores() async -> Ledger {
        await Task.runningOnOwnThread(hasThreads: path.environment.hasThreads) { ledger(asksStore: true) }
    }
}
