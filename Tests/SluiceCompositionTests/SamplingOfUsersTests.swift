import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing

@Suite struct SamplingOfUsersTests {
    @Test("of 1,000 users who log in, each one is in the sample with all events or with none, the $SignUp included")
    func usersAreSampledAsAWhole() async throws {
        var complete = 0
        for number in 0..<1_000 {
            let identity = Identity(persistedIn: .memory)
            let store = RecordingStore()
            let pipeline = try store.pipeline(identity, Sampling(rate: 0.1))
            for _ in 0..<3 { pipeline.track("Before") }
            try identity.login("user \(number)")
            for _ in 0..<3 { pipeline.track("After") }
            await pipeline.shutdown(timeout: .seconds(600))
            let names = store.events.map(\.name)
            #expect(names == [] || names == ["Before", "Before", "Before", "$SignUp", "After", "After", "After"])
            if !names.isEmpty { complete += 1 }
        }
        // Five standard deviations around 100.
        #expect((53...147).contains(complete))
    }

    @Test("a user stays in the sample, or out of it, in the next launch, and after a logout")
    func decisionIsKept() async throws {
        let directory = TemporaryDirectory()
        var decisions: Set<Bool> = []
        for launch in 0..<4 {
            let identity = Identity(persistedIn: .file(directory.path))
            let test = try TestPipeline.with(identity, Sampling(rate: 0.5))
            if launch == 1 { try identity.login("user") }
            if launch == 2 { try identity.logout() }
            test.pipeline.track("Event")
            decisions.insert(await test.events().contains { $0.name == "Event" })
        }
        #expect(decisions.count == 1)
    }
}
