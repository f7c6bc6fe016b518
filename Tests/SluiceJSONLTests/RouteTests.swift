import Sluice
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceJSONL

/// Waiting events belong to one receiver, also in a directory that several routes, pipelines or programs use.
struct RouteTests {
    private let directory = TemporaryDirectory()

    /// A route that keeps the events of its own name.
    private func route(_ name: String, _ transport: ScriptedTransport) -> Route {
        Route(name) {
            Filter { $0.name == name }
            JSONLStore(at: directory.path)
            transport
        }
    }

    private static func down() -> ScriptedTransport { ScriptedTransport(then: .answer(.all(.retry(after: nil)))) }

    private func leaveEvents(_ names: [String]) async throws {
        // A shutdown doesn't wait longer than 200 ms for a store to close. The next process has this date, too.
        let time = VirtualTime(wallTime: PipelineEnvironment.systemTime.wallTime())
        let pipeline = try Pipeline(environment: PipelineEnvironment(time: time)) {
            for name in names { route(name, Self.down()) }
        }
        for _ in 0..<10 { for name in names { pipeline.track(name) } }
        #expect(await pipeline.shutdown(timeout: .zero).routes.map(\.waiting) == names.map { _ in 10 })
    }

    private func delivered(_ transport: ScriptedTransport) throws -> [String: Int] {
        Dictionary(grouping: try transport.accepted(), by: \.name).mapValues(\.count)
    }

    /// The events that a process with one route delivers.
    private func delivered(_ name: String) async throws -> [String: Int] {
        let transport = ScriptedTransport()
        let pipeline = try Pipeline { route(name, transport) }
        await pipeline.flush()
        await pipeline.shutdown(timeout: .seconds(600))
        return try delivered(transport)
    }

    @Test(
        "each of two routes with one directory delivers its own events in the next process",
        arguments: [["internal", "vendor"], ["vendor", "internal"], ["main", "vendor"], ["a/b.c", "a%2fb"]])
    func routesKeepTheirEvents(names: [String]) async throws {
        try await leaveEvents(names)
        let transports = names.map { _ in ScriptedTransport() }
        let pipeline = try Pipeline {
            for (name, transport) in zip(names, transports).reversed() { route(name, transport) }
        }
        await pipeline.flush()
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        for (name, transport) in zip(names, transports) { #expect(try delivered(transport) == [name: 10]) }
        #expect(try directory.files().isEmpty)
    }

    @Test("another program with one of the routes leaves the events of the others alone")
    func otherProgramLeavesOtherRoutes() async throws {
        try await leaveEvents(["internal", "vendor"])
        for (name, expected) in [("another", [:]), ("vendor", ["vendor": 10]), ("internal", ["internal": 10])] {
            #expect(try await delivered(name) == expected)
        }
        #expect(try directory.files().isEmpty)
    }

    @Test("a renamed route gets its events if its directories are renamed")
    func directoriesCanBeRenamed() async throws {
        try await leaveEvents(["old name"])
        let name = try #require(directory.names.first)
        #expect(name.hasSuffix(".old%20name"))
        try directory.rename(name, to: "\(name.prefix(EventID.textLength)).new")
        #expect(try await delivered("new") == ["old name": 10])
    }

    @Test("an erasure names the directories of routes that the process doesn't have, and leaves their events")
    func erasureNamesOtherRoutes() async throws {
        try await leaveEvents(["former name"])
        let former = try #require(directory.names.first)
        try await leaveEvents(["internal", "vendor"])
        try directory.write([1], to: "\(EventID.random { 1 }).unused/lock")
        let pipeline = try Pipeline(isDeliveryPaused: true) {
            for name in ["internal", "vendor"] { route(name, Self.down()) }
        }
        let report = await pipeline.erase { _ in true }
        #expect(report.events == 20)
        #expect(report.left.count == 1 && report.left.first?.hasPrefix("\(directory.path)/\(former): ") == true)
        #expect(await pipeline.deleteWaitingEvents())
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
        #expect(try JSONLStore.erase(at: directory.path) { _ in true }.events == 10)
    }

    private func pipeline(at path: String) throws -> Pipeline {
        try Pipeline {
            JSONLStore(at: path)
            ScriptedTransport()
        }
    }

    @Test("two pipelines with one directory and one name are an error, until the first one ends")
    func samePlaceIsRefused() async throws {
        symlink(directory.path, "\(directory.path).link")
        defer { unlink("\(directory.path).link") }
        let place = "\(directory.path)/events"
        let first = try pipeline(at: place)
        for path in [place, "\(directory.path)/./events/", "\(directory.path).link/events"] {
            expectError(.invalidPipeline, says: "\"main\"") { try pipeline(at: path) }
        }
        // Without a pipeline, a tool can look into the directory.
        try TestedStore.opened(JSONLStore(at: place)).store.close()
        await first.shutdown(timeout: .seconds(600))
        var second: Pipeline? = try pipeline(at: "\(directory.path).link/events")
        second?.track("Event")
        second = nil
        let third = try pipeline(at: place)
        await third.shutdown(timeout: .seconds(600))
    }

    @Test("a new directory at the place of a deleted one is not taken for it")
    func deletedDirectoryIsFree() throws {
        let place = "\(directory.path)/events"
        let first = try pipeline(at: place)
        try directory.rename("events", to: "moved")
        let second = try pipeline(at: place)
        withExtendedLifetime((first, second)) {}
    }

    @Test("names are read back as characters, and too long ones are refused")
    func namesAreReadBack() throws {
        let id = "019b7705-8c00-7000-8000-0000ffff0001"
        for name in ["main", "vendor", "a b", "ü", "u\u{308}", ".", "/", "%", "%41", "\u{1}", "😀"] {
            let suffix = try #require(RouteName.suffix(for: name))
            #expect(suffix.utf8.allSatisfy { $0 != UInt8(ascii: "/") && $0 > 0x20 && $0 < 0x7F })
            #expect(RouteName.route(ofDirectory: id + suffix) == name)
        }
        #expect(RouteName.suffix(for: "main") == "")
        #expect(RouteName.route(ofDirectory: id + ".u%cc%88") == "\u{FC}")
        for name in ["", "x", String(id.dropLast()), id + "x", id + ".", id + ".%", id + ".%4", id + ".%zz"] {
            #expect(RouteName.route(ofDirectory: name) == nil)
        }
        expectError(.invalidArgument) {
            try JSONLStore(at: directory.path).open(StoreObserver(route: String(repeating: "ü", count: 60)))
        }
    }
}
