package import Sluice

/// State in memory, by the names of its items, in a place that can fail as a disk does.
package final class MemoryPlace: Sendable {
    package enum Access: Sendable { case read, write, remove }

    private struct State {
        var items: [String: [UInt8]]
        var failing: Set<Access> = []
        var writes = 0
        var beforeWriting: @Sendable () -> Void = {}
    }

    private let state: Locked<State>

    package init(_ items: [String: [UInt8]] = [:]) { state = Locked(State(items: items)) }

    /// Unique, because two places with one name are one.
    package var name: String { "the place \(ObjectIdentifier(self))" }

    package var items: [String: [UInt8]] {
        get { state.withLock(\.items) }
        set { state.withLock { $0.items = newValue } }
    }

    /// The number of writes, including the ones that failed.
    package var writes: Int { state.withLock(\.writes) }

    /// From now on, runs `body` before each write, without a lock.
    package func beforeWriting(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.beforeWriting = body }
    }

    /// From now on, these accesses fail, and no others.
    package func fail(at accesses: Access...) { state.withLock { $0.failing = Set(accesses) } }

    private func access<Result>(_ access: Access, _ body: (inout [String: [UInt8]]) -> Result) throws -> Result {
        try state.withLock { state in
            if state.failing.contains(access) { throw SluiceError(.storageUnavailable, "no disk") }
            return body(&state.items)
        }
    }

    @Sendable private func write(_ item: String, _ bytes: [UInt8]) throws {
        state.withLock(\.beforeWriting)()
        state.withLock { $0.writes += 1 }
        try access(.write) { $0[item] = bytes }
    }

    package var persistence: Persistence {
        Persistence(
            named: name, read: { item in try self.access(.read) { $0[item] } }, write: write,
            remove: { item in try self.access(.remove) { $0[item] = nil } })
    }

    /// A place of a host that can't remove. An empty item stays.
    package var persistenceWithoutRemoval: Persistence {
        Persistence(
            named: name, read: { item in try self.access(.read) { $0[item] } }, write: write)
    }
}
