import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceIdentity
import TestSupport
import Testing

@Suite("Lists and dictionaries in variables")
struct PropertyListTests {
    private let timers = DurationTimer()
    private let screens = Screens()
    private let identity = Identity(persistedIn: .memory)
    private let auto = AutoProperties()
    private let links = Links()

    /// Passes one list to each verb.
    private func use(_ list: some PropertyList, in pipeline: Pipeline) throws {
        timers.end("Name", list)
        timers.end(timers.start("Token"), list, priority: .critical)
        let screen = screens.enter("Screen", list)
        screens.enter("Child", list, in: screen)
        screens.leave("Child", list)
        screens.leave(screen, list)
        screens.show("Shown", list)
        links.opened("https://shop.example/", list)
        links.pushOpened("Sale", list)
        try identity.login("customer-42", list)
        try identity.login("customer-42", list)
        try identity.join(group: "acme", ofType: "company", list)
        try identity.setItem("book", "1", list)
        identity.profile.set(list)
        identity.profile.setOnce(list)
        try identity.profile.increment(list)
        identity.profile.append(list)
        auto.register(list)
        auto.registerOnce(list)
        UserScope.with(properties: list) { _ = pipeline.track("Scope") }
        pipeline.track(Revenue(25, list))
    }

    private func check(_ list: some PropertyList, _ expected: Properties) async throws {
        let test = try TestPipeline.with(UserScope(), timers, screens, identity, links, auto)
        test.pipeline.signal(.didBecomeActive)
        try use(list, in: test.pipeline)
        #expect(auto.registered == expected)
        let events = await test.events()
        // The profile's own object, or the event itself.
        let objects = ["$set", "$set_once", "$increment", "$append", "$item", "$group_set"]
        for event in events {
            let object = objects.lazy.compactMap { event.properties[$0]?.object }.first ?? event.properties
            for property in expected {
                let value = object[property.name]
                #expect(value == property.value || value == [property.value], "\(event.name) \(property.name)")
            }
        }
        #expect(
            events.map(\.name) == [
                "Token", "Name", "$AppViewScreen", "$AppViewScreen", "$AppPageLeave", "$AppPageLeave", "$AppViewScreen",
                "$DeepLinkOpened", "$PushOpened", "$SignUp", "$ProfileSet", "$GroupIdentify", "$ItemSet", "$ProfileSet",
                "$ProfileSetOnce",
                "$ProfileIncrement", "$ProfileAppend", "Scope", "$Revenue",
            ])
    }

    @Test("each verb takes a list of properties, and dictionaries of values of one type, or of property values")
    func listsAreTaken() async throws {
        let list: Properties = ["a": 1, "b": 2.5]
        try await check(list, list)
        try await PropertyListTests().check(["a": 1, "b": 2] as [String: Int], ["a": 1, "b": 2])
        try await PropertyListTests().check(["a": 1.5] as [String: Double], ["a": 1.5])
        try await PropertyListTests().check(
            ["a": .int(1), "b": .double(0.5)] as [String: PropertyValue], ["a": 1, "b": 0.5])
        try await PropertyListTests().check(["a": 7] as PropertyLiteral, ["a": 7])
    }

    /// Inserts an event with a dictionary.
    private struct Maker: Processor {
        let context = PluginContext()
        let prices = ["z": 1, "a": 2]

        func process(_ event: inout Event) -> Disposition {
            if event.name == "Dictionary" { context.insert("Inserted", prices, before: event) }
            return .keep
        }
    }

    @Test("the events that a plugin makes take dictionaries too, sorted by name, and a literal keeps its order")
    func pluginsTakeDictionaries() async throws {
        let maker = Maker()
        let test = try TestPipeline { maker }
        maker.context.track("Dictionary", maker.prices, priority: .critical)
        let page = 3
        maker.context.track("Literal", ["z": page, "a": page])
        let events = await test.events()
        #expect(events.map(\.name) == ["Dictionary", "Inserted", "Literal"])
        #expect(events.map { $0.properties.map(\.name) } == [["a", "z"], ["a", "z"], ["z", "a"]])
        #expect(events.map { $0.properties["z"] } == [1, 1, 3])
        #expect(events.map(\.priority) == [.critical, .normal, .normal])
    }
}
