import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import Testing

@Suite("Every processor keeps the contract")
struct ContractTests {
    @Test(
        "every tracked event is stored, or dropped with a reason",
        arguments: [
            AutoProperties(), Identity(persistedIn: .memory), DurationTimer(), Screens(), LifecycleEvents(),
            PassiveLaunchTagger(),
            CollectionSettings(persistedIn: .memory), CriticalEvents(named: ["a"]), Consent(persistedIn: .memory),
            Consent(persistedIn: .memory, whilePending: .keep), Sampling(rate: 0.5),
            Sampling(eventRate: 0.5), Consent(persistedIn: .memory, whilePending: .hold, holdingUpTo: 10_000),
            Limits(.appCenter), Limits(.sensors), EventNames(allowed: ["Pl*", "Event 1"]),
            EventNames(denied: ["Denied", "$*"]),
            RateLimit(10, per: .seconds(1)), Deduplication(within: .seconds(1)),
            Redaction(keys: ["a"], patterns: [.email, .paymentCard, .phone]),
            Limits(eventName: .cut(to: 3), properties: .cut(to: 3), propertyName: .cut(to: 3), string: .cut(to: 3)),
            Limits(
                eventName: .dropEvent(over: 9), properties: .dropEvent(over: 9), propertyName: .dropProperty(over: 9),
                string: .dropProperty(over: 9)),
        ] as [any Processor])
    func everyEventIsStoredOrDroppedWithReason(processor: any Processor) async throws {
        try await check(processor)
    }

    // Opens the existential.
    private func check(_ processor: some Processor) async throws {
        try await ProcessorContract.check { processor }
    }
}
