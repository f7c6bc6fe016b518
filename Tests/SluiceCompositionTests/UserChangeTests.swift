import Sluice
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// A reset of the identity ends the session of the user before.
@Suite struct UserChangeTests {
    private let store = RecordingStore()

    private var names: [String] { store.events.map(\.name) }

    private var indices: [PropertyValue?] { store.events.map { $0.properties["$session_index"] } }

    @Test(
        "reset() and erase() end the session with the ids of the former user, and the next event begins another one",
        arguments: [true, false], [true, false])
    func resetEndsSession(areSessionsFirst: Bool, isErased: Bool) async throws {
        let (sessions, identity) = (Sessions(), Identity(persistedIn: .memory))
        let pipeline = try store.pipeline(
            areSessionsFirst ? sessions : identity, areSessionsFirst ? identity : sessions)
        pipeline.track("A")
        let former = identity.anonymousID
        if isErased { try identity.erase() } else { try identity.reset() }
        pipeline.track("B")
        #expect(names == ["$SessionStart", "A", "$SessionEnd", "$SessionStart", "B"])
        #expect(indices == [1, 1, 1, 2, 2])
        let current = identity.anonymousID
        #expect(store.events.map(\.anonymousID) == [former, former, former, current, current] && former != current)
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test("a login, a logout and another anonymous id keep the session")
    func otherVerbsKeepSession() async throws {
        let identity = Identity(persistedIn: .memory)
        let pipeline = try store.pipeline(Sessions(), identity)
        pipeline.track("A")
        try identity.login("customer-42")
        try identity.logout()
        try identity.resetAnonymousID()
        pipeline.track("B")
        #expect(names == ["$SessionStart", "A", "$SignUp", "B"] && indices == [1, 1, 1, 1])
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test("a manual session ends too, and without one a reset begins none")
    func manualSessionIsRenewed() async throws {
        let (sessions, identity) = (Sessions(.manual), Identity(persistedIn: .memory))
        let pipeline = try store.pipeline(sessions, identity)
        try identity.reset()
        pipeline.track("A")
        sessions.start()
        pipeline.track("B")
        try identity.reset()
        try identity.reset()
        pipeline.track("C")
        sessions.end()
        try identity.reset()
        pipeline.track("D")
        #expect(
            names == ["A", "$SessionStart", "B", "$SessionEnd", "$SessionStart", "C", "$SessionEnd", "D"])
        #expect(indices == [nil, 1, 1, 1, 2, 2, 2, nil])
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test("a session that a reset has ended is not recovered by the next launch")
    func endedSessionIsNotRecovered() throws {
        let directory = TemporaryDirectory()
        let place = Persistence.file(directory.path)
        let identity = Identity(persistedIn: place)
        let first = try store.pipeline(Sessions(persistedIn: place), identity)
        first.track("A")
        try identity.reset()
        waitForWrites(of: first)
        let next = try TestPipeline.with(Sessions(persistedIn: place))
        next.pipeline.track("B")
        #expect(next.pipeline.ledger.tracked == 2)
        withExtendedLifetime(first) {}
    }

    @Test("an identity above the routes ends the sessions of all routes, and one in a route those of that route")
    func resetReachesItsChain() async throws {
        for isShared in [true, false] {
            let stores = [RecordingStore(), RecordingStore()]
            let identity = Identity(persistedIn: .memory)
            let pipeline = try Pipeline {
                if isShared { identity }
                isShared ? stores[0].route("first", Sessions()) : stores[0].route("first", identity, Sessions())
                stores[1].route("second", Sessions())
            }
            pipeline.track("A")
            try identity.reset()
            let ends = stores.map { $0.events(named: "$SessionEnd").count }
            #expect(ends == [1, isShared ? 1 : 0])
            #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        }
    }

    @Test("eraseEverything() makes the sessions count from 1 and the next start the first one, without an $AppInstall")
    func erasedUserIsForgotten() async throws {
        let directory = TemporaryDirectory()
        let place = Persistence.file(directory.path)
        func launch(_ store: RecordingStore) throws -> Pipeline {
            try store.pipeline(Sessions(persistedIn: place), LifecycleEvents(persistedIn: place, appVersion: "1.0"))
        }
        let first = try launch(store)
        for signal in [Signal.launched(.foreground), .didBecomeActive] { first.signal(signal) }
        let former = try #require(store.events.last?.properties["$session_id"])
        #expect(await first.eraseEverything().isComplete)
        for signal in [Signal.didEnterBackground, .didBecomeActive] { first.signal(signal) }
        await first.shutdown(timeout: .seconds(600))
        #expect(
            names == [
                "$SessionStart", "$AppInstall", "$AppStart", "$SessionStart", "$AppEnd", "$AppStart", "$AppEnd",
                "$SessionEnd",
            ])
        #expect(indices.allSatisfy { $0 == 1 })
        #expect(store.events.suffix(5).allSatisfy { $0.properties["$session_id"] != former })
        #expect(store.events[5].properties["$is_first_time"] == true)
        let later = RecordingStore()
        let next = try launch(later)
        for signal in [Signal.launched(.foreground), .didBecomeActive] { next.signal(signal) }
        await next.shutdown(timeout: .seconds(600))
        #expect(later.events.map(\.name) == ["$SessionStart", "$AppStart", "$AppEnd", "$SessionEnd"])
        #expect(later.events.allSatisfy { $0.properties["$session_index"] == 2 })
    }

    @Test("after eraseEverything() in the foreground, the time of the $AppEnd is the new user's")
    func erasedForegroundTime() async throws {
        let time = VirtualTime()
        let pipeline = try store.pipeline(
            in: PipelineEnvironment(time: time), LifecycleEvents(appVersion: "1.0"))
        pipeline.signal(.didBecomeActive)
        time.advance(by: .seconds(60))
        #expect(await pipeline.eraseEverything().isComplete)
        time.advance(by: .seconds(5))
        pipeline.signal(.didEnterBackground)
        #expect(store.events(named: "$AppEnd").map { $0.properties["$event_duration"] } == [.double(5_000)])
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test(
        "no session has two users: another thread's events during a reset have none",
        arguments: [true, false], [true, false])
    func noSessionHasTwoUsers(areSessionsFirst: Bool, isErased: Bool) async throws {
        let late = Locked<Pipeline?>(nil)
        let place = Persistence(
            named: "late place \(areSessionsFirst) \(isErased)", read: { _ in nil },
            write: { _, _ in
                // On another thread, while the new ids are written.
                guard let pipeline = late.withLock({ $0.take() }) else { return }
                onOtherThread { for _ in 0..<3 { pipeline.track("Late") } }
            }, remove: { _ in })
        let identity = Identity(persistedIn: place)
        let sessions = Sessions()
        let test = try TestPipeline {
            if areSessionsFirst { sessions }
            identity
            if !areSessionsFirst { sessions }
        }
        test.pipeline.track("Before")
        late.withLock { $0 = test.pipeline }
        if isErased { try identity.erase() } else { try identity.reset() }
        #expect(late.withLock { $0 == nil })
        test.pipeline.track("After")
        let events = await test.events()
        #expect(
            events.map(\.name) == [
                "$SessionStart", "Before", "$SessionEnd", "Late", "Late", "Late", "$SessionStart", "After",
            ])
        var users: [String: Set<String>] = [:]
        for event in events {
            guard let session = event.properties["$session_id"]?.string, let id = event.anonymousID else { continue }
            users[session, default: []].insert(id)
        }
        #expect(users.count == 2 && users.values.allSatisfy { $0.count == 1 })
        #expect(events.filter { $0.name == "Late" }.allSatisfy { $0.properties["$session_id"] == nil })
    }

    /// Calls a closure between two stages.
    private struct Between: Processor {
        let context = PluginContext()
        let body: @Sendable () -> Void

        func process(_ event: inout Event) -> Disposition {
            if event.name == "On its way" { body() }
            return .keep
        }
    }

    @Test(
        "an event that has passed one of Identity and Sessions when the user changes has no session",
        arguments: [true, false], [true, false])
    func eventOnItsWayHasNoSession(areSessionsFirst: Bool, isErased: Bool) async throws {
        let identity = Identity(persistedIn: .memory)
        let sessions = Sessions()
        let test = try TestPipeline {
            if areSessionsFirst { sessions } else { identity }
            Between {
                onOtherThread {
                    do {
                        if isErased { try identity.erase() } else { try identity.reset() }
                    } catch {
                        Issue.record(error)
                    }
                }
            }
            if areSessionsFirst { identity } else { sessions }
        }
        for name in ["Before", "On its way", "After"] { test.pipeline.track(name) }
        let events = await test.events()
        let names = ["$SessionStart", "Before", "$SessionEnd", "On its way", "$SessionStart", "After"]
        #expect(events.map(\.name) == names)
        let sessionIDs = events.map { $0.properties["$session_id"]?.string }
        #expect(sessionIDs[3] == nil && events[3].properties["$session_index"] == nil)
        #expect(sessionIDs[0] != nil && sessionIDs[0...2].allSatisfy { $0 == sessionIDs[0] })
        #expect(sessionIDs[4] != nil && sessionIDs[4] == sessionIDs[5] && sessionIDs[4] != sessionIDs[0])
        #expect(Set(events[0...2].map(\.anonymousID)).count == 1)
        #expect(events[4].anonymousID == events[5].anonymousID && events[4].anonymousID != events[0].anonymousID)
    }
}
