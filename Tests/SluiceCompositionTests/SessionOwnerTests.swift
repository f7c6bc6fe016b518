import Sluice
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// No session has two users, whatever the stages between `Identity` and `Sessions` do.
@Suite struct SessionOwnerTests {
    private let identity = Identity(persistedIn: .memory)
    private let sessions = Sessions()
    private let store = RecordingStore()

    /// The places of the identity (i), the sessions (s) and a stage of the test (x).
    static let orders = ["sxi", "ixs", "xis", "xsi", "isx", "six"]

    private func pipeline(_ order: String, _ stage: any Processor) throws -> Pipeline {
        let stages = order.map { letter -> any Processor in letter == "i" ? identity : letter == "s" ? sessions : stage
        }
        return try Pipeline {
            stages
            store
            NullTransport()
        }
    }

    /// The users of each session, by their anonymous ids.
    private var users: [Set<String?>] {
        var users: [String: Set<String?>] = [:]
        for event in store.events {
            if let id = event.properties["$session_id"]?.string { users[id, default: []].insert(event.anonymousID) }
        }
        return Array(users.values)
    }

    /// Inserts an event with the properties of its cause, after another thread has changed the user.
    private final class Inserter: Processor {
        let context = PluginContext()
        let change: @Sendable () -> Void

        init(_ change: @escaping @Sendable () -> Void) { self.change = change }

        func process(_ event: inout Event) -> Disposition {
            guard event.name == "Cause" else { return .keep }
            onOtherThread(change)
            context.insert("Inserted", event.properties, before: event)
            return .keep
        }
    }

    @Test("an inserted event has the session of its cause, or none", arguments: orders, [0, 1, 2])
    func insertedEventHasItsCausesMarks(order: String, changes: Int) async throws {
        let identity = identity
        let inserter = Inserter {
            do { for _ in 0..<changes { try identity.reset() } } catch { Issue.record(error) }
        }
        let pipeline = try pipeline(order, inserter)
        for name in ["Before", "Cause", "After"] { pipeline.track(name) }
        let events = store.events
        let inserted = try #require(events.first { $0.name == "Inserted" })
        let cause = try #require(events.first { $0.name == "Cause" })
        #expect(inserted.properties["$session_id"] == cause.properties["$session_id"])
        #expect(users.allSatisfy { $0.count == 1 })
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test("verbs before the pipeline have a session if the user is still the same", arguments: orders, [0, 1, 2, 3])
    func earlyVerbsHaveOneUser(order: String, changes: Int) async throws {
        try identity.join(group: "acme", ofType: "company")
        for change in 0..<changes {
            if change == 1 { try identity.erase() } else { try identity.reset() }
            identity.profile.set(["change": change])
        }
        let pipeline = try pipeline(order, Inserter {})
        pipeline.track("After")
        let inSession = store.events.filter { $0.properties["$session_id"] != nil && !$0.name.hasPrefix("$Session") }
        #expect(store.events.count == changes + 3)
        #expect(inSession.map(\.name) == [changes == 0 ? "$GroupIdentify" : "$ProfileSet", "After"])
        #expect(users.map(\.count) == [1])
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test("any number of changes before the pipeline is like one")
    func earlyChangesAreOne() async throws {
        try identity.join(group: "acme", ofType: "company")
        // One step of the stack for each would end the process.
        for _ in 0..<20_000 { try identity.reset() }
        let pipeline = try pipeline(Self.orders[0], Inserter {})
        pipeline.track("After")
        #expect(store.events.first?.properties["$session_id"] == nil)
        #expect(users.map(\.count) == [1])
        await pipeline.shutdown(timeout: .seconds(600))
    }

    /// Tracks on another thread while the user is erased.
    private final class Tracker: Processor {
        let pipeline = Locked<Pipeline?>(nil)

        func process(_ event: inout Event) -> Disposition { .keep }

        func forget() {
            guard let pipeline = pipeline.withLock(\.self) else { return }
            onOtherThread { for _ in 0..<3 { pipeline.track("Late") } }
        }
    }

    @Test("events that another thread tracks during eraseEverything() have no session", arguments: orders)
    func erasureIsAChangeOfTheUser(order: String) async throws {
        let tracker = Tracker()
        let pipeline = try pipeline(order, tracker)
        pipeline.track("Before")
        tracker.pipeline.withLock { $0 = pipeline }
        #expect(await pipeline.eraseEverything().isComplete)
        tracker.pipeline.withLock { $0 = nil }
        pipeline.track("After")
        #expect(
            store.events.map(\.name) == ["$SessionStart", "Before", "Late", "Late", "Late", "$SessionStart", "After"])
        #expect(store.events(named: "Late").allSatisfy { $0.properties["$session_id"] == nil })
        #expect(users.count == 2 && users.allSatisfy { $0.count == 1 })
        #expect(store.events.last?.properties["$session_index"] == 1)
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test(
        "events that a stage has held over several users have a session of their own user, or none",
        arguments: [
            ("ixs", false), ("ixs", true), ("isx", false), ("isx", true), ("six", true), ("xis", false), ("xsi", false),
        ])
    func heldEventsKeepTheirUser(row: (order: String, isOpenFirst: Bool)) async throws {
        let holder = Holder()
        let pipeline = try pipeline(row.order, holder)
        if row.isOpenFirst {
            holder.open()
            pipeline.track("Before")
            holder.close()
        }
        for user in ["a", "b", "c"] {
            try identity.login(user)
            pipeline.track("Event")
            if user != "c" { try identity.reset() }
        }
        holder.open()
        pipeline.track("After")
        #expect(users.allSatisfy { $0.count == 1 } && store.events(named: "Event").count == 3)
        #expect(store.events.last?.properties["$session_id"]?.string == sessions.id)
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test(
        "after a crash, a change of the user before the first event ends the session of the former user first",
        arguments: [(false, false), (false, true), (true, false), (true, true)])
    func changeEndsRecoveredSession(row: (isIdentityAbove: Bool, erases: Bool)) async throws {
        let directory = TemporaryDirectory()
        let former = FormerLaunch()
        func launch() throws -> (identity: Identity, test: TestPipeline) {
            let identity = Identity(persistedIn: .file(directory.path))
            let sessions = Sessions(persistedIn: .file(directory.path))
            let stages: [any Processor] = row.isIdentityAbove ? [identity, sessions] : [sessions, identity]
            return (identity, try former.next { try TestPipeline { for stage in stages { stage } } })
        }
        let crashed = try launch()
        crashed.test.pipeline.track("Event")
        let user = crashed.identity.anonymousID
        let next = try launch()
        if row.erases { try next.identity.erase() } else { try next.identity.reset() }
        next.test.pipeline.track("Event")
        let events = await next.test.events()
        #expect(events.map(\.name) == ["$SessionEnd", "$SessionStart", "Event"])
        #expect(events[0].properties["$recovered"] == true && events[0].anonymousID == user)
        #expect(events.dropFirst().allSatisfy { $0.anonymousID == next.identity.anonymousID })
    }
}
