import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import ServiceLifecycle
import SluiceHummingbird
import SluiceIdentity
import SluiceJSONL
import SluiceServiceLifecycle
import SluiceTesting
import Testing

@Suite("Hummingbird")
struct HummingbirdTests {
    private let store = RecordingStore()

    private func pipeline() throws -> Pipeline {
        try Pipeline {
            UserScope()
            store
            NullTransport()
        }
    }

    private func application(
        _ pipeline: Pipeline, services: [any Service] = []
    ) -> Application<RouterResponder<BasicRequestContext>> {
        let router = Router(context: BasicRequestContext.self)
        router.add(
            middleware: RequestTracking(by: pipeline) { request, _ in
                RequestUser(
                    loginID: request.headers[.authorization], anonymousID: request.cookies["visitor"]?.value)
            })
        router.get("/orders/:id") { _, context in
            let id = context.parameters.get("id") ?? ""
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<2 { group.addTask { _ = pipeline.track("Read", ["id": id]) } }
            }
            return "order \(id)"
        }
        router.get("/forbidden") { _, _ -> String in throw HTTPError(.forbidden) }
        router.get("/broken") { _, _ -> String in throw SluiceError(.inputOutput, "broken") }
        return Application(
            router: router, services: services,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    }

    @Test("a request is tracked with its method, route, status and user, and so are the events of its handler")
    func requestIsTracked() async throws {
        _ = try await application(pipeline()).test(.ahc()) { client in
            try await client.execute(
                uri: "/orders/7?secret=1", method: .get, headers: [.authorization: "ann", .cookie: "visitor=v1"])
        }
        #expect(store.events.map(\.name).sorted() == ["Read", "Read", "Request"])
        for event in store.events {
            #expect(event.loginID == "ann" && event.anonymousID == "v1" && event.distinctID == "ann")
            #expect(event.properties["route"] == "/orders/{id}")
        }
        let request = try #require(store.events(named: "Request").first).properties
        #expect(request["method"] == "GET")
        #expect(request["status"] == 200)
        #expect(request["duration_ms"]?.double ?? -1 >= 0)
        #expect(request.map(\.name).sorted() == ["duration_ms", "method", "route", "status"])
    }

    @Test(
        "errors are tracked with the status of the response",
        arguments: [("/forbidden", 403), ("/broken", 500), ("/nowhere", 404)])
    func errorIsTracked(path: String, status: Int) async throws {
        let response = try await application(pipeline()).test(.ahc()) { client in
            try await client.execute(uri: path, method: .get)
        }
        #expect(response.status.code == status)
        #expect(store.events.map(\.name) == ["Request"])
        #expect(store.events[0].properties["status"]?.int == status)
        #expect(store.events[0].properties["route"]?.string == (status == 404 ? nil : path))
        #expect(store.events[0].distinctID == nil)
    }

    @Test("10,000 requests of 100 users over real connections lose no event, and mix no users")
    func loadLosesNothing() async throws {
        let folder = try TemporaryFolder()
        let transport = ScriptedTransport()
        let pipeline = try Pipeline {
            UserScope()
            JSONLStore(at: folder.path + "/store", capacity: 100_000_000)
            transport
        }
        let (tasks, count) = (8, 1_250)
        let service = PipelineService(pipeline, deadline: .seconds(600))
        try await application(pipeline, services: [service]).test(.ahc()) { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        for number in task * count..<(task + 1) * count {
                            let response = try await client.execute(
                                uri: "/orders/\(number)", method: .get,
                                headers: [.authorization: "user-\(number % 100)"])
                            #expect(response.status == .ok)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        await pipeline.shutdown(timeout: .seconds(600))
        let events = try transport.accepted()
        let requests = events.filter { $0.name == "Request" }
        let reads = events.filter { $0.name == "Read" }
        #expect(requests.count == tasks * count)
        #expect(reads.count == 2 * tasks * count)
        #expect(Set(events.map(\.id)).count == events.count)
        // Only reads with the user of their own request.
        let numbers = reads.compactMap { event -> Int? in
            guard let number = event.properties["id"]?.string.flatMap({ Int($0) }) else { return nil }
            return event.loginID == "user-\(number % 100)" ? number : nil
        }
        #expect(numbers.count == 2 * tasks * count)
        #expect(Set(numbers).count == tasks * count)
        let users = Dictionary(grouping: requests, by: \.loginID).mapValues(\.count)
        #expect(users.count == 100 && users.values.allSatisfy { $0 == 100 })
        #expect(pipeline.ledger.isBalanced)
    }
}
