package import Sluice

/// State in memory, by the names of its items, in a place that can fail as a disk does.
package final class MemoryPlace: Sendable {
    package enum Access: Sendable { case read, write, remove }

    private struct State {
        var items: [String: [UInt8]]
        var failing: Set<Access> = []
    }

    private let state: Locked<State>

    package init(_ items: [String: [UInt8]] = [:]) { state = Locked(State(items: items)) }

    package var items: [String: [UInt8]] {
        get { state.withLock(\.items) }
        set { state.withLock { $0.items = newValue } }
    }

    /// From now on, these accesses fail, and no others.
    package func fail(at accesses: Access...) { state.withLock { $0.failing = Set(accesses) } }

    private func access<Result>(_ access: Access, _ body: (inout [String: [UInt8]]) -> Result) throws -> Result {
        try state.withLock { state in
            if state.failing.contains(access) { throw SluiceError(.storageUnavailable, "no disk") }
            return body(&state.items)
        }
    }

    package var persistence: Persistence {
        Persistence(
            named: "a place", read: { item in try self.access(.read) { $0[item] } },
            write: { item, bytes in try self.access(.write) { $0[item] = bytes } },
            remove: { item in try self.access(.remove) { $0[item] = nil } })
    }

    /// A place of a host that can't remove. An empty item stays.
    package var persistenceWithoutRemoval: Persistence {
        Persistence(
            named: "a place", read: { item in try self.access(.read) { $0[item] } },
            write: { item, bytes in try self.access(.write) { $0[item] = bytes } })
    }
}
