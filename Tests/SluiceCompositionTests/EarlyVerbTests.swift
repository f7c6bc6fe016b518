import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// Verbs that a host calls before it builds the pipeline.
@Suite struct EarlyVerbTests {
    private let directory = TemporaryDirectory()
    private let store = RecordingStore()

    private var place: Persistence { .file(directory.path) }

    @Test(
        "a link that was opened early is tracked, and its campaign doesn't replace the first one of an earlier launch")
    func earlyLinkIsTracked() async throws {
        let former = Links(persistedIn: place)
        former.opened("https://a.example/?utm_source=first")
        await former.finish()
        let links = Links(persistedIn: place)
        links.opened("https://a.example/?utm_source=second")
        _ = try store.pipeline(links)
        #expect(store.events.map(\.name) == ["$DeepLinkOpened"])
        #expect(store.events[0].properties["$first_utm_source"] == "first")
        #expect(store.events[0].properties["$latest_utm_source"] == "second")
    }

    @Test("super properties that were registered early are on the events, and keep what an earlier launch registered")
    func earlySuperPropertiesStay() async throws {
        let former = AutoProperties(persistedIn: place)
        former.register(["plan": "free", "region": "eu"])
        await former.finish()
        let auto = AutoProperties(persistedIn: place)
        auto.register(["plan": "pro"])
        auto.registerOnce(["region": "us"])
        let pipeline = try store.pipeline(auto)
        pipeline.track("A")
        #expect(store.events[0].properties["plan"] == "pro" && store.events[0].properties["region"] == "eu")
    }

    @Test("an early profile belongs to the user at that time, not to the next one", arguments: [true, false])
    func earlyProfileBelongsToItsUser(isReset: Bool) throws {
        let identity = Identity(persistedIn: place)
        try identity.login("a")
        let anonymousID = identity.anonymousID
        try identity.join(group: "acme", ofType: "company")
        identity.profile.set(["email": "a@x.example"])
        if isReset { try identity.reset() } else { try identity.login("b", ["plan": "pro"]) }
        let pipeline = try store.pipeline(identity)
        pipeline.track("Later")
        let profile = try #require(store.events(named: "$ProfileSet").first)
        #expect(profile.properties["$set"] == ["email": "a@x.example"])
        #expect(profile.distinctID == "a" && profile.loginID == "a" && profile.anonymousID == anonymousID)
        #expect(profile.properties["$groups"] == ["company": "acme"])
        #expect(store.events(named: "$GroupIdentify").map(\.distinctID) == ["a"])
        let switches = store.events(named: "$SignUp").filter { $0.properties["$switches_user"] == true }
        let later = switches + store.events(named: "Later")
        #expect(store.events(named: "$ProfileSet").count == 1)
        #expect(switches.allSatisfy { $0.properties["$set"] == ["plan": "pro"] })
        #expect(later.map(\.distinctID) == (isReset ? [identity.anonymousID] : ["b", "b"]))
        #expect(later.allSatisfy { $0.properties["$groups"] == nil })
        withExtendedLifetime(pipeline) {}
    }

    @Test("an early profile without an early login belongs to the stored user, also if another one logs in after it")
    func earlyProfileBelongsToStoredUser() async throws {
        let former = Identity(persistedIn: place)
        try former.login("stored")
        let identity = Identity(persistedIn: place)
        identity.profile.set(["theme": "dark"])
        try identity.login("b")
        identity.profile.set(["theme": "light"])
        _ = try store.pipeline(identity)
        #expect(store.events(named: "$ProfileSet").map(\.distinctID) == ["stored", "b"])
    }

    @Test("an early profile gets the ids that the build finds if they can't be read before")
    func unreadableIdentityIsReadLater() throws {
        let place = MemoryPlace()
        place.fail(at: .read)
        let identity = Identity(persistedIn: place.persistence)
        identity.profile.set(["theme": "dark"])
        place.fail()
        try Identity(persistedIn: place.persistence).login("stored")
        _ = try store.pipeline(identity)
        #expect(store.events(named: "$ProfileSet").map(\.distinctID) == ["stored"])
    }

    @Test("a session that was started early stays, with the index after the last one", arguments: [true, false])
    func earlySessionStays(isManual: Bool) async throws {
        for launch in 1...3 {
            let store = RecordingStore()
            let sessions = Sessions(isManual ? .manual : .automatic, persistedIn: place)
            sessions.start()
            let id = try #require(sessions.id)
            let pipeline = try store.pipeline(sessions)
            pipeline.signal(.launched(.foreground))
            pipeline.track("A")
            await pipeline.shutdown(timeout: .seconds(600))
            #expect(store.events.map(\.name) == ["$SessionStart", "A", "$SessionEnd"])
            for event in store.events {
                #expect(event.properties["$session_id"] == .string(id))
                #expect(event.properties["$session_index"] == .int(Int64(launch)))
            }
        }
    }

    @Test("early events keep the order of the calls, also if the clock is set back between them")
    func callsKeepTheirOrder() throws {
        let time = VirtualTime()
        let environment = PipelineEnvironment(time: time)
        let (one, two) = PluginContext.$environment.withValue(environment) { (DurationTimer(), Sessions(.manual)) }
        one.end("First")
        time.setWallTime(Timestamp(milliseconds: 1_000_000_000_000))
        two.start()
        time.setWallTime(Timestamp(milliseconds: 1_100_000_000_000))
        one.end("Last")
        _ = try store.pipeline(one, two)
        #expect(store.events.map(\.name) == ["First", "$SessionStart", "Last"])
    }

    /// Tracks while it is prepared.
    private final class Eager: Processor {
        let context = PluginContext()
        func prepare() { context.track("Prepared") }
        func process(_ event: inout Event) -> Disposition { .keep }
    }

    @Test("an event of prepare() passes plugins that are prepared, and comes before the early events")
    func eventOfPrepareWaits() throws {
        let (sessions, timers) = (Sessions(), DurationTimer())
        timers.end("Early")
        _ = try store.pipeline(Eager(), timers, sessions)
        #expect(store.events.map(\.name) == ["$SessionStart", "Prepared", "Early"])
        #expect(store.events.allSatisfy { $0.properties["$session_index"] == 1 })
    }
}
