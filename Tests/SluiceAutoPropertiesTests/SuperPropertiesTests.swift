import TestSupport
import Testing

@testable import SluiceAutoProperties

@Suite("AutoProperties: super properties")
struct SuperPropertiesTests {
    private let auto = AutoProperties(including: ["$process_id"], system: SystemReader(processID: 7))

    private func value(_ name: String, _ properties: Properties = [:]) throws -> PropertyValue? {
        try #require(auto.processed("Event", properties)).properties[name]
    }

    @Test("precedence is: the event's own, dynamic, static, automatic")
    func ownPropertiesTakePrecedence() throws {
        #expect(try value("$process_id") == 7)
        auto.register(["$process_id": "static"])
        #expect(try value("$process_id") == "static")
        auto.registerDynamic("$process_id") { "dynamic" }
        #expect(try value("$process_id") == "dynamic")
        #expect(try value("$process_id", ["$process_id": "own"]) == "own")
        #expect(try value("$process_id", ["$process_id": nil]) == .null)
        auto.unregister("$process_id")
        #expect(try value("$process_id") == 7)
    }

    @Test("each name appears once, however many sources set it")
    func eachNameAppearsOnce() throws {
        auto.register(["$lib": "a", "b": 1])
        auto.registerDynamic("$lib") { "c" }
        auto.registerDynamic("b") { 2 }
        let names = try #require(auto.processed("Event", ["b": 3])).properties.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test("registering again replaces, registering once does not")
    func registerReplacesAndRegisterOnceDoesNot() throws {
        auto.register(["a": 1, "b": 1])
        auto.register(["a": 2])
        auto.registerOnce(["a": 3, "c": 3])
        #expect(auto.registered == ["a": 2, "b": 1, "c": 3])
        #expect(try value("a") == 2 && value("b") == 1 && value("c") == 3)
    }

    @Test("a super property is added from its registration until it is removed")
    func propertiesCountUntilRemoved() async throws {
        let test = try TestPipeline { auto }
        test.pipeline.track("Before")
        auto.register(["plan": "pro"])
        test.pipeline.track("With")
        auto.unregister("plan")
        test.pipeline.track("After")
        #expect(await test.events().map { $0.properties["plan"] } == [nil, "pro", nil])
    }

    @Test("all super properties can be removed together; automatic ones stay")
    func allCanBeRemoved() throws {
        auto.register(["a": 1, "$lib": "mine"])
        auto.registerDynamic("b") { 2 }
        auto.unregisterAll()
        #expect(auto.registered.isEmpty)
        #expect(try value("a") == nil && value("b") == nil)
        #expect(try value("$lib") == "Sluice")
    }

    @Test("a dynamic property is computed for each event that doesn't have it")
    func dynamicPropertiesAreComputedPerEvent() throws {
        let calls = Locked(0)
        auto.registerDynamic("n") {
            calls.withLock { count in
                count += 1
                return .int(count)
            }
        }
        #expect(try value("n") == 1)
        #expect(try value("n") == 2)
        #expect(try value("n", ["n": "own"]) == "own")
        #expect(try value("n") == 3)
    }

    @Test("if a dynamic property has no value, the static one is used")
    func nilShowsStaticProperty() throws {
        auto.registerDynamic("n") { nil }
        #expect(try value("n") == nil)
        auto.register(["n": 1])
        #expect(try value("n") == 1)
    }

    @Test("the same dynamic name again replaces the closure")
    func sameNameReplacesClosure() throws {
        auto.registerDynamic("n") { 1 }
        auto.registerDynamic("n") { 2 }
        #expect(try value("n") == 2)
    }

    @Test("a closure can call the plugin and even track, without recursion or deadlock")
    func closureMayTrack() async throws {
        let test = try TestPipeline { auto }
        auto.registerDynamic("n") { [weak pipeline = test.pipeline, weak auto] in
            auto?.register(["registered": true])
            pipeline?.track("Inner")
            return 1
        }
        test.pipeline.track("Outer")
        let events = await test.events()
        #expect(events.map(\.name) == ["Inner", "Outer"])
        #expect(events.map { $0.properties["n"] } == [nil, 1])
    }

    @Test("values that can't be stored are sanitized")
    func valuesAreSanitized() throws {
        auto.register(["a": .double(.nan)])
        auto.registerDynamic("b") { .double(.infinity) }
        #expect(try value("a") == .null)
        #expect(try value("b") == .null)
    }

    @Test("concurrent registrations lose and mix no values")
    func concurrentRegistrationsLoseNothing() async throws {
        let test = try TestPipeline { auto }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<100 { test.pipeline.track("Event") }
                }
            }
            group.addTask { [auto] in
                for number in 0..<100 {
                    auto.register(["a": .int(number), "b": .int(number)])
                    auto.registerDynamic("c") { .int(number) }
                }
            }
        }
        let events = await test.events()
        #expect(events.count == 400)
        for event in events {
            #expect(event.properties["a"] == event.properties["b"])
            #expect(event.properties["$lib"] == "Sluice")
        }
    }
}
