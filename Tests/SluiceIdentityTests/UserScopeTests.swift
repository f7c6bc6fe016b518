import SluiceIdentity
import TestSupport
import Testing

@Suite("UserScope: the user of a request")
struct UserScopeTests {
    @Test("events have the ids and properties of their task's scope, and outside of it none")
    func scopeAddsUser() async throws {
        let test = try TestPipeline { UserScope() }
        let result = UserScope.with(distinctID: "u", loginID: "l", anonymousID: "a", properties: ["route": "/x"]) {
            test.pipeline.track("In", ["n": 1])
            return 7
        }
        test.pipeline.track("Out")
        #expect(result == 7)
        let events = await test.events()
        #expect(events.map(\.distinctID) == ["u", nil])
        #expect(events.map(\.loginID) == ["l", nil])
        #expect(events.map(\.anonymousID) == ["a", nil])
        #expect(events[0].properties == ["n": 1, "route": "/x"])
        #expect(events[1].properties.isEmpty)
    }

    @Test(
        "without a distinct id, it is the login id, or the anonymous id; an invalid one is left out and counted",
        arguments: [
            (nil, "l", "l"), (nil, nil, "a"), ("", nil, "a"), (" ", nil, "a"), ("a\0b", nil, "a"),
            (String(repeating: "x", count: 256), nil, "a"),
        ] as [(String?, String?, String)])
    func distinctIDFollowsOthers(distinctID: String?, loginID: String?, expected: String) async throws {
        let test = try TestPipeline { UserScope() }
        UserScope.with(distinctID: distinctID, loginID: loginID, anonymousID: "a") { _ = test.pipeline.track("Event") }
        #expect(test.pipeline.ledger.sanitized == (distinctID == nil ? [:] : [.droppedID: 1]))
        #expect(try await test.event().distinctID == expected)
    }

    @Test("child tasks and tasks of the scope have its user, and detached tasks don't")
    func tasksInheritScope() async throws {
        let test = try TestPipeline { UserScope() }
        let pipeline = test.pipeline
        await UserScope.with(distinctID: "u") {
            async let child: Void = { _ = pipeline.track("async let") }()
            await child
            await withTaskGroup(of: Void.self) { $0.addTask { pipeline.track("group") } }
            await Task { _ = pipeline.track("Task") }.value
            await Task.detached { _ = pipeline.track("detached") }.value
        }
        let events = await test.events()
        #expect(events.map(\.name) == ["async let", "group", "Task", "detached"])
        #expect(events.map(\.distinctID) == ["u", "u", "u", nil])
    }

    @Test("1,000 concurrent requests never have each other's user")
    func concurrentScopesAreSeparate() async throws {
        let test = try TestPipeline { UserScope() }
        let pipeline = test.pipeline
        await withTaskGroup(of: Void.self) { group in
            for number in 1...1_000 {
                group.addTask {
                    await UserScope.with(distinctID: "\(number)") {
                        await Task.yield()
                        pipeline.track("Request", ["number": number])
                    }
                }
            }
        }
        let events = await test.events()
        #expect(events.count == 1_000)
        #expect(events.allSatisfy { $0.properties["number"]?.int.map(String.init) == $0.distinctID })
    }

    @Test("an inner scope has its own user and the properties of both, or the outer user if it names none")
    func scopesNest() async throws {
        let test = try TestPipeline { UserScope() }
        UserScope.with(distinctID: "outer", loginID: "l", properties: ["a": 1, "b": 1]) {
            UserScope.with(distinctID: "inner", properties: ["b": 2]) { _ = test.pipeline.track("Inner") }
            UserScope.with(properties: ["c": 3]) { _ = test.pipeline.track("Same user") }
        }
        let events = await test.events()
        #expect(events.map(\.distinctID) == ["inner", "outer"])
        #expect(events.map(\.loginID) == [nil, "l"])
        #expect(events[0].properties == ["a": 1, "b": 2])
        #expect(events[1].properties == ["a": 1, "b": 1, "c": 3])
    }

    @Test("an event keeps ids and properties of its own")
    func eventKeepsItsOwn() async throws {
        let test = try TestPipeline { UserScope() }
        UserScope.with(distinctID: "scope", loginID: "scope", properties: ["a": 1]) {
            _ = test.pipeline.track("Event", ["a": 2]) { $0.distinctID = "own" }
        }
        let event = try await test.event()
        #expect(event.distinctID == "own")
        #expect(event.loginID == nil)
        #expect(event.properties == ["a": 2])
    }

    @Test("an Identity below gives its ids to events outside of all scopes, and to none in a scope without a user")
    func identityBelowCompletes() async throws {
        let identity = try Identity.loggedIn("server")
        let test = try TestPipeline {
            UserScope()
            Inserter { _ in }
            identity
        }
        func track() { test.pipeline.track("Event") }
        UserScope.with(distinctID: "u") {
            track()
            UserScope.with(loginID: "undefined") { track() }
        }
        UserScope.with(distinctID: "null") { track() }
        UserScope.with(loginID: "0", anonymousID: " ") { track() }
        UserScope.with(properties: ["route": "/x"]) { track() }
        UserScope.with(distinctID: nil) { track() }
        track()
        let events = await test.events()
        for found in [events.filter { $0.name == "Event" }, events.filter { $0.name == "Inserted" }] {
            #expect(found.map(\.distinctID) == ["u", nil, nil, nil, nil, nil, "server"])
            #expect(found.map(\.loginID) == [nil, nil, nil, nil, nil, nil, "server"])
            #expect(found.dropLast().allSatisfy { $0.anonymousID == nil } && found.last?.anonymousID != nil)
        }
    }

    @Test("an Identity above is an error: in one chain, or above the routes with the scope in one of them")
    func identityAboveIsRefused() throws {
        func identity() -> Identity { Identity(persistedIn: .memory) }
        let stages: [(shared: [any Processor], own: [any Processor], isRefused: Bool)] = [
            ([identity(), UserScope()], [], true), ([Inserter(), identity(), Inserter(), UserScope()], [], true),
            ([identity()], [UserScope()], true), ([identity(), Inserter()], [Inserter(), UserScope()], true),
            ([], [identity(), UserScope()], true), ([UserScope()], [identity(), UserScope()], true),
            ([UserScope(), identity()], [], false), ([UserScope()], [Inserter(), identity()], false),
            ([], [UserScope(), Inserter(), identity()], false), ([identity()], [Inserter()], false),
        ]
        for (index, (shared, own, isRefused)) in stages.enumerated() {
            var code: SluiceError.Code?
            do {
                _ = try Pipeline.with(shared, inRoute: false, own: own)
            } catch { code = (error as? SluiceError)?.code }
            #expect(code == (isRefused ? .invalidPipeline : nil), "\(index)")
        }
    }
}

/// Inserts events before each one.
struct Inserter: Processor {
    let context = PluginContext()
    private let changes: [@Sendable (inout Event) -> Void]

    init(_ changes: (@Sendable (inout Event) -> Void)...) { self.changes = changes }

    func process(_ event: inout Event) -> Disposition {
        for change in changes { context.insert("Inserted", before: event, configure: change) }
        return .keep
    }
}
