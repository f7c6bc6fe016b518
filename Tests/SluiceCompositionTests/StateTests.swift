import Dispatch
import Sluice
import SluiceAutoProperties
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// The state of plugins: stored when a shutdown returns, and never overwritten if it can't be read.
@Suite struct StateTests {
    /// A plugin that changes its state and reads it in the next launch.
    struct Subject: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let item: String
        /// What it remembers after a change.
        let expected: String
        /// Makes the plugin, and closures that change the state of a pipeline with it and that return what it remembers.
        let make: @Sendable (Persistence) -> (any Processor, change: (Pipeline) throws -> Void, state: () -> String)
    }

    static let subjects = [
        Subject(
            testDescription: "AutoProperties", item: "super-properties", expected: "\(["plan": "pro"] as Properties)"
        ) { place in
            let plugin = AutoProperties(persistedIn: place)
            return (plugin, { _ in plugin.register(["plan": "pro"]) }, { "\(plugin.registered)" })
        },
        Subject(
            testDescription: "Links", item: "links",
            expected: "\(["$first_utm_source": "b", "$latest_utm_source": "b"] as Properties)"
        ) { place in
            let plugin = Links(persistedIn: place)
            return (plugin, { _ in plugin.opened("https://a.example/?utm_source=b") }, { "\(plugin.campaigns)" })
        },
        Subject(testDescription: "Consent", item: "consent", expected: "granted") { place in
            let plugin = Consent(persistedIn: place)
            return (plugin, { _ in try plugin.grant() }, { "\(plugin.status)" })
        },
        Subject(testDescription: "CollectionSettings", item: "collection", expected: "false") { place in
            let plugin = CollectionSettings(persistedIn: place)
            return (plugin, { _ in try plugin.setEnabled(false) }, { "\(plugin.isEnabled)" })
        },
        Subject(testDescription: "Identity", item: "identity", expected: "b") { place in
            let plugin = Identity(persistedIn: place, anonymousIDFrom: [AnonymousIDSource { "a" }])
            return (plugin, { _ in try plugin.login("b") }, { plugin.distinctID ?? "" })
        },
        Subject(testDescription: "Limits", item: "event-names", expected: "\(Disposition.drop(.tooManyEventNames))") {
            place in
            var limits = Limits(.appCenter, persistedIn: place)
            limits.distinctEventNames = .dropEvent(over: 1)
            let plugin = limits
            return (
                plugin, { $0.track("A") },
                {
                    var event = event()
                    return "\(plugin.process(&event))"
                }
            )
        },
        Subject(testDescription: "Sessions", item: "sessions", expected: "\(PropertyValue.int(2))") { place in
            let plugin = Sessions(persistedIn: place)
            return (
                plugin, { $0.track("A") },
                {
                    var event = event()
                    _ = plugin.process(&event)
                    return "\(event.properties["$session_index"] ?? .null)"
                }
            )
        },
        Subject(testDescription: "LifecycleEvents", item: "lifecycle", expected: "") { place in
            let plugin = LifecycleEvents(persistedIn: place)
            return (plugin, { $0.signal(.didBecomeActive) }, { "" })
        },
    ]

    /// A place whose writes are slow, unless the shutdown has returned without them.
    private final class SlowPlace: Sendable {
        let items = Locked<[String: [UInt8]]>([:])
        let hasReturned = DispatchSemaphore(value: 0)

        var persistence: Persistence {
            Persistence(
                named: "a slow place", read: { [items] item in items.withLock { $0[item] } },
                write: { [items, hasReturned] item, bytes in
                    // Without the timeout, a shutdown that waits for the write would never return.
                    _ = hasReturned.wait(timeout: .now() + .milliseconds(300))
                    items.withLock { $0[item] = bytes }
                })
        }
    }

    private static func event() -> Event { Event(name: "B") }

    // Serialized, because a slow write of one case would keep the others from running.
    @Test(
        "the state is on disk when a shutdown returns, and the next launch has it", .serialized, arguments: subjects)
    func stateIsStoredByShutdown(subject: Subject) async throws {
        let place = SlowPlace()
        let first = subject.make(place.persistence)
        let pipeline = try RecordingStore().pipeline(first.0)
        try first.change(pipeline)
        await pipeline.shutdown(timeout: .seconds(600))
        #expect(place.items.withLock { $0[subject.item] } != nil)
        place.hasReturned.signal()
        let next = subject.make(place.persistence)
        try next.0.prepare()
        #expect(next.state() == subject.expected)
    }

    @Test("two plugins of a pipeline can't keep their state in one file, except identities", arguments: subjects)
    func oneFileHasOneState(subject: Subject) async throws {
        let directory = TemporaryDirectory()
        func pipeline(_ first: String, _ second: String) throws -> Pipeline {
            try Pipeline {
                RecordingStore().route("first", subject.make(.file("\(directory.path)/\(first)")).0)
                RecordingStore().route("second", subject.make(.file("\(directory.path)/\(second)")).0)
            }
        }
        let one = try pipeline("a", "b")
        if subject.item == "identity" {
            for pair in [("a", "a"), ("b", "c")] {
                await (try pipeline(pair.0, pair.1)).shutdown(timeout: .seconds(600))
            }
        } else {
            for (first, second, advice) in [
                ("c", "c", ": give each"), ("b", "c", ": shut it down or release it before, or give each"),
                ("c", "../\(directory.path.split(separator: "/").last ?? "")/./a", ", which is \(directory.path)/a"),
            ] {
                let error = #expect(throws: SluiceError.self) { try pipeline(first, second) }
                #expect(error?.code == .invalidPipeline)
                #expect(error?.message.contains("/\(subject.item).json\(advice)") == true, "\(error?.message ?? "")")
                #expect(error?.message.hasSuffix("give each a directory of its own") == true)
            }
        }
        // After a shutdown, after a refused build and after a release, nothing is taken.
        await one.shutdown(timeout: .seconds(600))
        for _ in 0..<2 { _ = try pipeline("a", "b") }
        await (try pipeline("b", "a")).shutdown(timeout: .seconds(600))
    }

    @Test("a pipeline with state that can't be read isn't built, and the state stays as it is", arguments: subjects)
    func unreadableStateStays(subject: Subject) async throws {
        let directory = TemporaryDirectory()
        try directory.makeDirectory("\(subject.item).json")
        let plugin = subject.make(.file(directory.path)).0
        let error = #expect(throws: SluiceError.self) { try RecordingStore().pipeline(plugin) }
        #expect(error?.code == .storageUnavailable)
        #expect(error?.message.hasPrefix(subject.testDescription) == true)
        await plugin.finish()
        #expect(directory.names.filter { !$0.hasSuffix(".lock") } == ["\(subject.item).json"])
    }

    @Test(
        "damaged state is kept aside and reported, and the next launch reads what was stored since", arguments: subjects
    )
    func damagedStateIsKeptAside(subject: Subject) async throws {
        let directory = TemporaryDirectory()
        for text in ["", "{", #"{"\#(subject.item)":{},"checksum":"0"}"#] {
            try directory.write(Array(text.utf8), to: "\(subject.item).json")
            let first = subject.make(.file(directory.path))
            let test = try TestPipeline { first.0 }
            #expect(test.diagnostics.count == 1, "\(text)")
            try first.change(test.pipeline)
            _ = await test.events()
            #expect(try directory.read("\(subject.item).json.corrupt") == Array(text.utf8))
        }
        let next = try TestPipeline { subject.make(.file(directory.path)).0 }
        #expect(next.diagnostics.isEmpty)
        _ = await next.events()
    }

    @Test("state of another version is neither damaged nor overwritten", arguments: subjects)
    func otherVersionStays(subject: Subject) async throws {
        let directory = TemporaryDirectory()
        // {} and 2, hashed by the same rule independently.
        let text = #"{"\#(subject.item)":{},"version":2,"checksum":"c735951983dc5515"}"#
        try directory.write(Array(text.utf8), to: "\(subject.item).json")
        let plugin = subject.make(.file(directory.path)).0
        let error = #expect(throws: SluiceError.self) { try RecordingStore().pipeline(plugin) }
        #expect(error?.code == .otherVersion)
        await plugin.finish()
        #expect(try directory.read("\(subject.item).json") == Array(text.utf8))
        #expect(!directory.names.contains("\(subject.item).json.corrupt"))
    }
}
