import Sluice
import SluiceAutoProperties
import SluiceFilters
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// An installation whose state is older than its `Consent`, or whose answer was damaged.
@Suite struct LateStateTests {
    private let directory = TemporaryDirectory()
    private let answers = TemporaryDirectory()
    private let time = VirtualTime()

    private var place: Persistence { .file(directory.path) }

    private func consent(_ pending: Consent.WhilePending = .drop) -> Consent {
        Consent(persistedIn: .file(answers.path), whilePending: pending)
    }

    /// A launch of the app. Without a consent, it is one of before the update.
    private func launch(
        _ consent: Consent? = nil, isConsentFirst: Bool = true, areSessionsFirst: Bool = true,
        version: String = "1.0", in place: Persistence? = nil
    ) throws -> TestPipeline {
        let place = place ?? self.place
        let sessions = Sessions(persistedIn: place)
        return try TestPipeline(time: time) {
            if isConsentFirst { consent }
            if areSessionsFirst { sessions }
            LifecycleEvents(persistedIn: place, appVersion: version)
            if !areSessionsFirst { sessions }
            AutoProperties(persistedIn: place)
            if !isConsentFirst { consent }
        }
    }

    private static let start = [Signal.launched(.foreground), .didBecomeActive]
    private static let visit = [Signal.didEnterBackground, .didBecomeActive]

    private func give(_ signals: [Signal], to test: TestPipeline) {
        for signal in signals { test.pipeline.signal(signal) }
    }

    /// Two launches without a `Consent`, ten days ago.
    private func useFormerVersion(in place: Persistence? = nil) async throws {
        AutoProperties(persistedIn: place ?? self.place).register(["plan": "pro"])
        for _ in 0..<2 {
            let test = try launch(in: place)
            give(Self.start, to: test)
            _ = await test.events()
        }
        time.advance(by: .seconds(864_000))
    }

    /// The last launch without a `Consent`, which crashes.
    private func crash() throws {
        let test = try launch()
        give(Self.start, to: test)
        waitForWrites(of: test.pipeline)
        time.advance(by: .seconds(864_000))
    }

    /// Each event with the index of its session.
    private func story(_ events: [Event]) -> [String] {
        events.map { event in
            guard let index = event.properties["$session_index"]?.int else { return event.name }
            return "\(event.name) \(index)"
        }
    }

    @Test(
        "a grant continues the state of an earlier version, also after launches without an answer",
        arguments: [true, false], [true, false])
    func grantContinuesState(isEarly: Bool, isConsentFirst: Bool) async throws {
        try await useFormerVersion()
        if !isConsentFirst { try answers.write(Array("x".utf8), to: "consent.json") }
        for _ in 0..<2 {
            let pending = try launch(consent(), isConsentFirst: isConsentFirst)
            give(Self.start, to: pending)
            #expect(await pending.eventsWithEnd().isEmpty)
        }
        let consent = consent()
        let granting = try launch(consent, isConsentFirst: isConsentFirst)
        if isEarly { try consent.grant() }
        give(Self.start, to: granting)
        if !isEarly { try consent.grant() }
        give(Self.visit, to: granting)
        let events = await granting.events()
        let begin = isEarly ? ["$SessionStart 3", "$AppStart 3"] : []
        #expect(story(events) == begin + ["$AppEnd 3", "$AppStart 3"])
        #expect(events.allSatisfy { $0.properties["plan"] == "pro" })
        for event in events where event.name == "$AppStart" {
            #expect(event.properties["$is_first_time"] == false && event.properties["$is_first_day"] == false)
        }
        let next = try launch(self.consent())
        give(Self.start, to: next)
        #expect(await story(next.events()) == ["$SessionStart 4", "$AppStart 4"])
    }

    @Test("a grant tracks the $AppUpdate, with the version of before", arguments: [true, false])
    func grantTracksUpdate(isEarly: Bool) async throws {
        try await useFormerVersion()
        for expected in [["1.0"], []] as [[PropertyValue?]] {
            let consent = consent()
            let test = try launch(consent, version: "2.0")
            if isEarly { try consent.grant() }
            give(Self.start, to: test)
            if !isEarly { try consent.grant() }
            let updates = await test.events().filter { $0.name == "$AppUpdate" || $0.name == "$AppInstall" }
            #expect(updates.map { $0.properties["$previous_version"] } == expected)
        }
    }

    @Test(
        "a grant recovers the ends of a launch that has crashed, in their order",
        arguments: [true, false], [true, false])
    func grantRecoversEnds(isEarly: Bool, areSessionsFirst: Bool) async throws {
        try crash()
        let consent = consent()
        let test = try launch(consent, areSessionsFirst: areSessionsFirst)
        if isEarly { try consent.grant() }
        give(Self.start, to: test)
        if !isEarly { try consent.grant() }
        test.pipeline.track("Event")
        let events = await test.events()
        let begin = isEarly ? ["$SessionStart 2", "$AppStart 2"] : []
        #expect(story(events) == ["$AppEnd 1", "$SessionEnd 1"] + begin + ["Event 2"])
        #expect(events.prefix(2).allSatisfy { $0.properties["$recovered"] == true })
        let next = try launch(self.consent())
        give(Self.start, to: next)
        #expect(await story(next.events()) == ["$SessionStart 3", "$AppStart 3"])
    }

    @Test("an end that a grant could not track before the next crash is recovered by the next launch")
    func unrecoveredEndStays() async throws {
        try crash()
        try grantAndCrash()
        let next = try launch(self.consent())
        give(Self.start, to: next)
        #expect(await story(next.events()).suffix(3) == ["$SessionEnd 1", "$SessionStart 3", "$AppStart 3"])
    }

    private func grantAndCrash() throws {
        let consent = consent()
        let test = try launch(consent)
        give(Self.start, to: test)
        try consent.grant()
        waitForWrites(of: test.pipeline)
    }

    @Test("a denial after the grant removes the state, and a later grant of the launch stores it")
    func denialKeepsStateInMemory() async throws {
        try await useFormerVersion()
        let consent = consent()
        let test = try launch(consent)
        give(Self.start, to: test)
        try consent.grant()
        try consent.deny()
        #expect(directory.names == [])
        give(Self.visit, to: test)
        #expect(directory.names == [])
        try consent.grant()
        give(Self.visit, to: test)
        let events = await test.events()
        #expect(story(events) == ["$AppEnd 3", "$AppStart 3"])
        #expect(events.allSatisfy { $0.properties["plan"] == "pro" })
        #expect(events.last?.properties["$is_first_time"] == false)
    }

    @Test("state that a denial has removed unread makes the installation a new one")
    func unreadStateIsForgotten() async throws {
        try await useFormerVersion()
        let consent = consent()
        let test = try launch(consent)
        give(Self.start, to: test)
        try consent.deny()
        try consent.grant()
        test.pipeline.track("Event")
        #expect(await story(test.events()) == ["$AppInstall 1", "Event 1"])
    }

    @Test("state that can't be read at the grant isn't overwritten, and is continued later")
    func unreadableStateIsContinued() async throws {
        let place = MemoryPlace()
        try await useFormerVersion(in: place.persistence)
        let stored = place.items
        let consent = consent()
        let test = try launch(consent, in: place.persistence)
        place.fail(at: .read)
        give(Self.start, to: test)
        try consent.grant()
        give(Self.visit, to: test)
        waitForWrites(of: test.pipeline)
        #expect(place.items == stored)
        place.fail()
        give(Self.visit, to: test)
        let events = await test.events()
        #expect(story(events).suffix(2) == ["$AppEnd 3", "$AppStart 3"])
        #expect(!events.contains { $0.name == "$AppInstall" })
        #expect(events.last?.properties["$is_first_time"] == false)
    }

    @Test("held events keep the marks that they got before the grant")
    func heldEventsKeepMarks() async throws {
        try await useFormerVersion()
        let consent = consent(.hold)
        let test = try launch(consent, isConsentFirst: false)
        give(Self.start, to: test)
        try consent.grant()
        test.pipeline.track("Event")
        let events = await test.events()
        #expect(story(events) == ["$SessionStart 1", "$AppStart 1", "Event 3"])
        #expect(events[1].properties["$is_first_time"] == true && events[1].properties["plan"] == nil)
        #expect(Set(events.compactMap { $0.properties["$session_id"]?.string }).count == 1)
        #expect(events[2].properties["plan"] == "pro")
    }

    @Test("super properties and campaigns that were removed before the grant stay removed")
    func removedValuesStayRemoved() async throws {
        let former = Links(persistedIn: place)
        former.opened("https://shop.example/?utm_source=newsletter")
        AutoProperties(persistedIn: place).register(["plan": "pro", "region": "eu", "theme": "dark"])
        for isAll in [false, true] {
            let (auto, links) = (AutoProperties(persistedIn: place), Links(persistedIn: place))
            let consent = Consent(persistedIn: .memory)
            let test = try TestPipeline.with(consent, auto, links)
            if isAll {
                auto.register(["plan": "free"])
                auto.unregisterAll()
                links.reset()
            } else {
                auto.unregister("plan")
                auto.unregister("theme")
                auto.register(["theme": "light"])
            }
            try consent.grant()
            let expected: Properties = isAll ? [:] : ["region": "eu", "theme": "light"]
            #expect(auto.registered == expected)
            #expect(links.campaigns["$first_utm_source"] == (isAll ? nil : "newsletter"))
            test.pipeline.track("Event")
            let event = try await test.event()
            #expect(event.properties["plan"] == nil && event.properties["theme"] == expected["theme"])
            #expect(AutoProperties(persistedIn: place).registered == expected)
        }
        #expect(Links(persistedIn: place).campaigns == [:])
    }

    @Test(
        "an index is that of one session, also if a consent above the sessions holds their events until the grant",
        arguments: [0, 1, 3], [Sessions.Mode.automatic, .idle(.seconds(60)), .manual])
    func heldSessionsHaveOneIndex(former: Int, mode: Sessions.Mode) async throws {
        func launch(_ answer: (Consent) throws -> Void) async throws -> [Event] {
            let consent = Consent(persistedIn: .memory, whilePending: .hold)
            let sessions = Sessions(mode, persistedIn: .file(directory.path))
            let test = try TestPipeline.with(consent, sessions, time: time)
            for signal in [Signal.launched(.foreground), .didBecomeActive] { test.pipeline.signal(signal) }
            for name in ["One", "Two"] {
                if mode == .manual { sessions.start() }
                test.pipeline.track(name)
                time.advance(by: .seconds(100))
            }
            try answer(consent)
            sessions.start()
            test.pipeline.track("Three")
            return await test.eventsWithEnd()
        }
        var all: [Event] = []
        for _ in 0..<former + 1 { all += try await launch { try $0.grant() } }
        var indices: [String: Set<Int>] = [:]
        for event in all {
            guard let id = event.properties["$session_id"]?.string else { continue }
            indices[id, default: []].insert(try #require(event.properties["$session_index"]?.int))
        }
        #expect(indices.values.allSatisfy { $0.count == 1 })
        let starts = all.filter { $0.name == "$SessionStart" }.compactMap { $0.properties["$session_index"]?.int }
        #expect(starts == Array(1...starts.count) && Set(indices.values.flatMap(\.self)) == Set(starts))
    }
}
