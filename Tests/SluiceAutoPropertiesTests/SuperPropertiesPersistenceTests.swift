import TestSupport
import Testing

@testable import SluiceAutoProperties

/// Static super properties across launches.
@Suite struct SuperPropertiesPersistenceTests {
    private let directory = TemporaryDirectory()

    private func launch() -> AutoProperties {
        AutoProperties(persistedIn: .file(directory.path), system: SystemReader())
    }

    @Test("each verb is on disk when it returns, with the types of its values")
    func verbsAreDurable() throws {
        let moment = Timestamp(milliseconds: 1_767_225_600_000)
        let first = launch()
        let properties: Properties = [
            "plan": "pro", "since": .date(moment), "n": 1, "d": 1.5, "tags": ["a", ["b": nil]],
        ]
        first.register(.init(properties))
        #expect(launch().registered == first.registered)
        first.registerOnce(["plan": "free", "once": true])
        #expect(launch().registered["plan"] == "pro" && launch().registered["once"] == true)
        first.unregister("plan")
        #expect(launch().registered["plan"] == nil)
        first.unregisterAll()
        #expect(launch().registered.isEmpty)
    }

    @Test("once means once per installation")
    func onceIsOncePerInstallation() throws {
        launch().registerOnce(["campaign": "spring"])
        let second = launch()
        second.registerOnce(["campaign": "summer"])
        #expect(try #require(second.processed()).properties["campaign"] == "spring")
    }

    @Test(
        "a value that was registered once counts, even if it can't be read until the name is registered once more",
        arguments: [
            (["once"], "free"), (["once", "once"], "free"), (["once", "register"], "PRO"),
            (["register", "once"], "PRO"),
            (["unregister", "once"], "PRO"), (["once", "unregister"], nil), (["unregisterAll", "once"], "PRO"),
        ] as [([String], PropertyValue?)])
    func onceIsOnceBeforeReading(calls: [String], value: PropertyValue?) {
        let place = MemoryPlace()
        func launch() -> AutoProperties { AutoProperties(persistedIn: place.persistence, system: SystemReader()) }
        launch().registerOnce(["first_plan": "free", "seen": 1])
        place.fail(at: .read)
        let second = launch()
        for call in calls {
            switch call {
            case "once": second.registerOnce(["first_plan": "PRO", "new": 2])
            case "register": second.register(["first_plan": "PRO"])
            case "unregister": second.unregister("first_plan")
            default: second.unregisterAll()
            }
        }
        place.fail()
        #expect(second.registered["first_plan"] == value)
        #expect(second.registered["new"] == (calls.contains("once") ? 2 : nil))
        #expect(second.registered["seen"] == (calls.contains("unregisterAll") ? nil : 1))
        second.register(["last": 3])
        #expect(launch().registered == second.registered)
    }

    @Test("dynamic properties and automatic ones are not kept")
    func onlyStaticPropertiesAreKept() throws {
        let first = launch()
        first.registerDynamic("n") { 1 }
        first.register(["a": 1])
        #expect(launch().registered == ["a": 1])
    }

    /// A value with this many levels of arrays and objects.
    private static func nested(_ levels: Int) -> PropertyValue {
        (0..<levels).reduce("deep") { value, level in level.isMultiple(of: 2) ? ["a": value] : [value] }
    }

    @Test(
        "a property of any depth is the same in the next launch as in this one",
        arguments: [0, 1, 2, 10, 23, 28, 29, 30, 31, 32, 33, 60, 1_000])
    func depthIsKept(levels: Int) throws {
        let first = launch()
        first.register(["deep": Self.nested(levels), "plan": "pro"])
        let next = launch()
        #expect(try TestPipeline { next }.diagnostics.isEmpty)
        #expect(next.registered == first.registered && next.registered["plan"] == "pro")
        #expect(directory.names == ["super-properties.json"])
    }
}
