import Sluice
import SluiceDuration
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// Screens and timers after their user has gone.
@Suite struct FormerUserTests {
    private let time = VirtualTime()
    private let screens = Screens()
    private let timers = DurationTimer()
    private let identity = Identity(persistedIn: .memory)

    private func launch(isIdentityFirst: Bool = true) throws -> TestPipeline {
        let test = try TestPipeline(time: time) {
            if isIdentityFirst { identity }
            screens
            timers
            if !isIdentityFirst { identity }
        }
        test.pipeline.signal(.didBecomeActive)
        return test
    }

    /// Ends the user by a reset or by the erasure of everything.
    private func end(_ test: TestPipeline, isErased: Bool) async throws {
        if isErased { #expect(await test.pipeline.eraseEverything().isComplete) } else { try identity.reset() }
    }

    @Test("a visible screen is left with the ids of the former user", arguments: [true, false])
    func resetLeavesScreens(isIdentityFirst: Bool) async throws {
        let test = try launch(isIdentityFirst: isIdentityFirst)
        let former = identity.anonymousID
        screens.enter("Orders")
        screens.enter("Order 4711")
        time.advance(by: .seconds(2))
        try identity.reset()
        time.advance(by: .seconds(3))
        screens.show("Home")
        let current = identity.anonymousID
        let events = await test.events()
        #expect(
            events.map { "\($0.name) \($0.properties["$screen_name"]?.string ?? "")" } == [
                "$AppViewScreen Orders", "$AppViewScreen Order 4711", "$AppPageLeave Order 4711",
                "$AppPageLeave Orders", "$AppViewScreen Home",
            ])
        #expect(events.map(\.anonymousID) == [former, former, former, former, current] && former != current)
        #expect(events[2...3].allSatisfy { $0.properties["$event_duration"] == 2_000.0 })
        #expect(events[4].properties["$referrer"] == nil)
    }

    @Test("the next user's first screen has no $referrer, and the former user's screens cause no event")
    func erasureForgetsScreens() async throws {
        let test = try launch()
        screens.show("Order 4711")
        time.advance(by: .seconds(2))
        try await end(test, isErased: true)
        screens.show("Home")
        screens.show("Search")
        let events = await test.events()
        #expect(events.map { $0.properties["$screen_name"] } == ["Home", "Home", "Search"])
        #expect(events.map { $0.properties["$referrer"] } == [nil, nil, "Home"])
    }

    @Test("a screen that is still entered is viewed by the next user when the app returns", arguments: [true, false])
    func enteredScreenIsViewedLater(isErased: Bool) async throws {
        let test = try launch()
        let root = screens.enter("Root")
        try await end(test, isErased: isErased)
        for signal in [Signal.didEnterBackground, .didBecomeActive] { test.pipeline.signal(signal) }
        time.advance(by: .seconds(1))
        screens.enter("Part", in: root)
        screens.leave(root)
        let events = await test.events().suffix(4)
        #expect(
            events.map { "\($0.name) \($0.properties["$screen_name"]?.string ?? "")" } == [
                "$AppViewScreen Root", "$AppViewScreen Part", "$AppPageLeave Part", "$AppPageLeave Root",
            ])
        #expect(events.first?.properties["$referrer"] == nil)
        #expect(events.last?.properties["$event_duration"] == 1_000.0)
        #expect(events.allSatisfy { $0.anonymousID == identity.anonymousID })
    }

    @Test("the time of the former user isn't in the next user's duration", arguments: [true, false])
    func timersAreForgotten(isErased: Bool) async throws {
        let test = try launch()
        let token = timers.start("Read")
        timers.start("Order 4711")
        time.advance(by: .seconds(2))
        try await end(test, isErased: isErased)
        timers.start("Search")
        time.advance(by: .seconds(1))
        timers.end(token)
        timers.end("Order 4711")
        timers.end("Search")
        #expect(await test.durations() == [nil, nil, 1_000.0])
    }

    @Test("the leave of the last screen begins no session that isn't ended", arguments: [true, false])
    func leaveBeginsNoOpenSession(areScreensFirst: Bool) async throws {
        let sessions = Sessions()
        let test = try TestPipeline(time: time) {
            if areScreensFirst { screens }
            sessions
            if !areScreensFirst { screens }
            identity
        }
        test.pipeline.signal(.didBecomeActive)
        screens.show("Order 4711")
        sessions.end()
        try identity.reset()
        let events = await test.events().suffix(areScreensFirst ? 1 : 3)
        let end = ["$AppPageLeave"]
        #expect(events.map(\.name) == (areScreensFirst ? end : ["$SessionStart"] + end + ["$SessionEnd"]))
        #expect(events.allSatisfy { ($0.properties["$session_index"] == nil) == areScreensFirst })
    }
}
