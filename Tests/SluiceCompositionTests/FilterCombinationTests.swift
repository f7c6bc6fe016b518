import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceAutoProperties

@Suite("Filters together with other plugins")
struct FilterCombinationTests {
    @Test("after a grant, held events continue in order, with the ids, times and priorities of their moment")
    func grantReleasesHeldEvents() async throws {
        let identity = Identity(persistedIn: .memory)
        let (time, consent) = (VirtualTime(), Consent(persistedIn: .memory, whilePending: .hold))
        let test = try TestPipeline(time: time) {
            identity
            consent
        }
        let start = time.wallTime()
        test.pipeline.track("A", ["a": .date(start)])
        time.advance(by: .seconds(1))
        try identity.setAnonymousID("other")
        test.pipeline.track("B", priority: .critical)
        time.advance(by: .seconds(100))
        #expect(consent.held == 2)
        try consent.grant()
        #expect(consent.held == 0)
        test.pipeline.track("C")
        let events = await test.events()
        #expect(Set(events.map(\.name)) == ["A", "B", "C"])
        let held = try ["A", "B"].map { name in try #require(events.first { $0.name == name }) }
        #expect(held.map(\.time.milliseconds) == [start.milliseconds, start.milliseconds + 1_000])
        #expect(held[0].anonymousID != "other" && held[1].distinctID == "other")
        #expect(held[0].properties == ["a": .date(start)] && held[1].priority == .critical)
        #expect(test.pipeline.ledger.tracked == 3)
        #expect(test.pipeline.ledger.held == 0 && test.pipeline.ledger.dropped.isEmpty)
    }

    @Test("the properties of plugins pass Sensors' rules unchanged")
    func pluginPropertiesPassSensors() async throws {
        let identity = Identity(persistedIn: .memory)
        let test = try TestPipeline {
            PassiveLaunchTagger()
            LifecycleEvents()
            Sessions()
            AutoProperties()
            identity
            Limits(.sensors)
        }
        try identity.login("a")
        test.pipeline.signal(.launched(.passive))
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.signal(.willTerminate)
        #expect(test.pipeline.ledger.sanitized.isEmpty && test.pipeline.ledger.dropped.isEmpty)
        let names = Set(await test.events().map(\.name))
        #expect(names == ["$SignUp", "$SessionStart", "$AppStartPassively", "$AppStart", "$AppEnd", "$SessionEnd"])
    }

    @Test("a secret is found whatever its type, and among the properties that AutoProperties adds")
    func secretsOfAnyTypeAreFound() throws {
        let redaction = Redaction(keys: ["password", "plan"])
        let own: Properties = ["password": .date(Timestamp(milliseconds: 0)), "a": 1]
        #expect(try #require(redaction.processed("Event", own)).properties == ["password": "[redacted]", "a": 1])
        let auto = AutoProperties(system: SystemReader())
        auto.register(["Plan": "pro"])
        var event = try #require(auto.processed("Event", own))
        #expect(redaction.process(&event) == .keep)
        #expect(event.properties["Plan"] == "[redacted]")
        // The next event gets the plan as it was registered.
        #expect(try #require(auto.processed("Event")).properties["Plan"] == "pro")
    }
}
