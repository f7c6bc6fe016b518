/// The routes of a pipeline, which work at the same time.
///
/// The child of a `fork` has no routes: they stay with the parent.
struct Routes: Sendable {
    private let all: [RouteRuntime]
    private let path: EventPath

    init(_ all: [RouteRuntime], _ path: EventPath) {
        self.all = all
        self.path = path
    }

    private var own: [RouteRuntime] { path.isInherited ? [] : all }

    /// Returns the route with that name, or all of them.
    ///
    /// - Throws: ``SluiceError/Code/invalidArgument`` if the pipeline has no route with that name.
    func named(_ name: String?) throws(SluiceError) -> [RouteRuntime] {
        if path.isInherited {
            throw SluiceError(
                .shutDown, "the pipeline belongs to the parent of this process: build pipelines after a fork")
        }
        guard let name else { return all }
        let named = all.filter { $0.name == name }
        guard !named.isEmpty else { throw SluiceError(.invalidArgument, "there is no route named \"\(name)\"") }
        return named
    }

    /// Adds up a count of dead letters of the route with that name, or of all routes.
    func sum(
        _ name: String?, _ count: (DeadLetterAccess) async throws(SluiceError) -> Int
    ) async throws(SluiceError) -> Int {
        var sum = 0
        for route in try named(name) { sum += try await count(DeadLetterAccess(route)) }
        return sum
    }

    func each<Failure: Error>(_ body: (RouteRuntime) throws(Failure) -> Void) throws(Failure) {
        for route in own { try body(route) }
    }

    /// Returns when `body` has returned for all routes.
    func atOnce(_ body: @escaping @Sendable (RouteRuntime) async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for route in own { group.addTask { await body(route) } }
        }
    }

    /// Flushes all routes, and returns the sum of their reports.
    func flush(until end: Duration?) async -> FlushReport {
        await withTaskGroup(of: FlushReport.self) { group in
            for route in own { group.addTask { await route.flush(until: end) } }
            return await group.reduce(FlushReport(), +)
        }
    }

    /// Returns whether all waiting events are gone.
    func deleteAll() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for route in own { group.addTask { await route.deleteAll() } }
            return await group.reduce(!path.isInherited) { $0 && $1 }
        }
    }

    /// Returns whether all dead letters are gone.
    func discardDeadLetters() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            for route in own {
                group.addTask {
                    do throws(SluiceError) {
                        _ = try await DeadLetterAccess(route).discard { _ in true }
                        return true
                    } catch {
                        path.report(.store, "the dead letters can't be removed: \(error)", route: route.name)
                        return false
                    }
                }
            }
            return await group.reduce(true) { $0 && $1 }
        }
    }

    /// The counts of the routes. If it asks the stores for theirs too, it can wait for a disk.
    func ledger(asksStore: Bool = false) -> Ledger { path.ledger(own.map { $0.ledger(asksStore: asksStore) }) }

    func ledgerWithStores() async -> Ledger {
        await Task.runningOnOwnThread(hasThreads: path.environment.hasThreads) { ledger(asksStore: true) }
    }
}
