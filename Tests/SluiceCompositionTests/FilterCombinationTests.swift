import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluicePassiveLaunch
import TestSupport
import Testing

@testable import SluiceAutoProperties

@Suite("Filters together with other plugins")
struct FilterCombinationTests {
    @Test("the properties of plugins pass Sensors' rules unchanged")
    func pluginPropertiesPassSensors() async throws {
        let identity = Identity(persistedIn: .memory)
        let test = try TestPipeline.with(
            PassiveLaunchTagger(), LifecycleEvents(), Sessions(), AutoProperties(), identity, Limits(.sensors))
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
