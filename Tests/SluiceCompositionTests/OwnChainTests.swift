import Sluice
import SluiceAutoProperties
import SluiceIdentity
import SluiceLifecycle
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// A plugin's events stay in its chain.
@Suite struct OwnChainTests {
    private let stores = [RecordingStore(), RecordingStore()]

    private var names: [[String]] { stores.map { $0.events.map(\.name) } }

    /// A pipeline with two routes, each with these processors.
    private func build(_ first: [any Processor], _ second: [any Processor]) throws -> Pipeline {
        try Pipeline {
            Route("crm") {
                for processor in first { processor }
                stores[0]
                NullTransport()
            }
            Route("anonymous-stats") {
                for processor in second { processor }
                stores[1]
                NullTransport()
            }
        }
    }

    @Test("an identity in one route tracks its sign-up and its profile there only")
    func identityStaysInItsRoute() async throws {
        let identity = Identity(persistedIn: .memory)
        let pipeline = try build([identity], [])
        try identity.login("customer-42")
        identity.profile.set(["plan": "pro"])
        #expect(names == [["$SignUp", "$ProfileSet"], []])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }

    @Test("lifecycle events in each of two routes give each backend one $AppStart")
    func lifecycleEventsComeOnceEach() async throws {
        let pipeline = try build([LifecycleEvents()], [LifecycleEvents()])
        pipeline.signal(.didBecomeActive)
        #expect(names == [["$AppStart"], ["$AppStart"]])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }

    @Test("sessions in one route give the other one nothing")
    func sessionsStayInTheirRoute() async throws {
        let pipeline = try build([Sessions()], [])
        pipeline.signal(.launched(.foreground))
        pipeline.track("A")
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        #expect(names == [["$SessionStart", "A", "$SessionEnd"], ["A"]])
        #expect(stores[1].events[0].properties.isEmpty)
    }

    /// Tracks an event for each purchase, from `process` and with the properties of the purchase.
    private final class Sales: Processor {
        let context = PluginContext()

        func process(_ event: inout Event) -> Disposition {
            guard event.name == "Purchase" else { return .keep }
            context.track("Entered")
            context.insert("Sale", event.properties + ["is_first": true], before: event)
            return .keep
        }
    }

    @Test("an event that a processor tracks in process enters at the top of its own chain")
    func trackInProcessEntersOwnChain() async throws {
        let pipeline = try build([Sessions(), Sales()], [])
        pipeline.track("Purchase")
        #expect(names == [["$SessionStart", "Entered", "Sale", "Purchase"], ["Purchase"]])
        #expect(stores[0].events[1].properties["$session_index"] == 1)
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }

    @Test("an inserted event with the properties of its cause has the session, the version and the device")
    func insertedEventIsFull() async throws {
        let pipeline = try build(
            [Sessions(), AutoProperties(appName: "Shop", appVersion: "2.4.1"), Sales()], [])
        pipeline.track("Purchase", ["sku": "A-7"])
        let sale = try #require(stores[0].events.first { $0.name == "Sale" })
        let purchase = try #require(stores[0].events.first { $0.name == "Purchase" })
        #expect(sale.properties == purchase.properties + ["is_first": true])
        #expect(sale.properties["$session_index"] == 1 && sale.properties["$app_version"] == "2.4.1")
        #expect(sale.properties["$os"] != nil && sale.id != purchase.id)
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }
}
