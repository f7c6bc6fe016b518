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

    @Test("registering again replaces, registering once does not")
    func registerReplacesAndRegisterOnceDoesNot() throws {
        auto.register(["a": 1, "b": 1])
        auto.register(["a": 2])
        auto.registerOnce(["a": 3, "c": 3])
        #expect(auto.registered == ["a": 2, "b": 1, "c": 3])
        #expect(try value("a") == 2 && value("b") == 1 && value("c") == 3)
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

    @Test("a dynamic property is computed for each event that doesn't have it, by the last closure of its name")
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
        auto.registerDynamic("n") { "another closure" }
        #expect(try value("n") == "another closure")
    }

    @Test("if a dynamic property has no value, the static one is used")
    func nilShowsStaticProperty() throws {
        auto.registerDynamic("n") { nil }
        #expect(try value("n") == nil)
        auto.register(["n": 1])
        #expect(try value("n") == 1)
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

    @Test("concurrent registrations lose and mix no values")
    func concurrentRegistrationsLoseNothing() async throws {
        let test = try TestPipeline { auto }
        await test.trackOnTasks(100) { [auto] in
            for number in 0..<100 {
                auto.register(["a": .int(number), "b": .int(number)])
                auto.registerDynamic("c") { .int(number) }
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
