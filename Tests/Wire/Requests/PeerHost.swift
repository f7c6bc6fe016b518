import Foundation
import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceHTTP
import SluiceIdentity
import SluiceJSONL
import SluiceMemory
import SluiceTesting
import SluiceVendors

/// A host that makes the calls of Docs/Migrating.md, so `Tests/Wire/peers` can compare its requests with those of the
/// vendor's own SDK.
///
/// It reads one command from each line of standard input, and answers it with a line on standard output. Its clock is
/// virtual, and its requests are real.
struct PeerHost {
    private let auto: AutoProperties
    private let identity = Identity(persistedIn: .memory)
    private let timers = DurationTimer()
    private let screens = Screens()
    private let diagnostics = Locked<[String]>([])
    private let time = VirtualTime()
    private let pipeline: Pipeline

    /// - Parameter store: A directory for the events, or a capacity in bytes for a `MemoryStore`.
    init(_ sample: FormatSample, to url: String, store: String) throws {
        auto = AutoProperties(except: try Self.propertiesOfMachine())
        let isSensors = sample.name == "sensors"
        pipeline = try Pipeline(
            delivery: isSensors ? .sensors : .standard, environment: .virtual(time, seed: 1),
            onDiagnostic: { [diagnostics] diagnostic in diagnostics.withLock { $0.append(diagnostic.description) } }
        ) { [auto, identity, timers, screens] in
            auto
            identity
            timers
            screens
            if isSensors { Limits(.sensors) }
            if let capacity = Int(store) {
                MemoryStore(capacity: capacity)
            } else {
                JSONLStore(at: store)
            }
            HTTPTransport(to: url, format: sample.format)
        }
        try identity.setAnonymousID("a-1")
        pipeline.signal(.didBecomeActive)
    }

    /// The names of the automatic properties that differ from one machine to the next.
    private static func propertiesOfMachine() throws -> Set<String> {
        let store = RecordingStore()
        let pipeline = try Pipeline {
            AutoProperties()
            store
            ScriptedTransport()
        }
        pipeline.track("Any")
        let names = store.events.flatMap { $0.properties.map(\.name) }
        return Set(names).subtracting(["$lib", "$lib_version"])
    }

    /// Answers commands until the end of the input.
    func run() async throws {
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words.first {
            case "track":
                for number in 0..<(Int(words[1]) ?? 0) { pipeline.track("Search", ["query": "\(words[2])-\(number)"]) }
            case "flush": await pipeline.flush()
            case "pass": try await pass(seconds: Int(words[1]) ?? 0)
            case "report": break
            case "exit": return  // As a process that ends without a word to its SDK.
            default: try act(line)
            }
            FileHandle.standardOutput.write(Data((report() + "\n").utf8))
        }
    }

    /// Lets time pass as fast as the requests on loopback allow.
    private func pass(seconds: Int) async throws {
        for _ in 0..<seconds {
            time.advance(by: .seconds(1))
            try await Task.sleep(for: .milliseconds(4))
        }
    }

    private func report() -> String {
        let ledger = pipeline.ledger
        let route = ledger.routes[0]
        let texts = diagnostics.withLock { diagnostics in
            defer { diagnostics = [] }
            return diagnostics
        }
        var writer = JSONWriter()
        writer.object {
            $0["delivered"] = .int(Int64(route.delivered))
            $0["waiting"] = .int(Int64(route.waiting))
            $0["dead"] = .int(Int64(route.rejected))
            $0["dropped"] = .int(Int64(route.dropped.values.reduce(0, +)))
            $0["diagnostics"] = .array(PropertyArray(texts.map { .string($0) }))
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func act(_ call: String) throws {
        switch call {
        case "anonymous", "known", "switched":
            pipeline.track("Search", ["query": "tea", "results": 3, "exact": true, "price": 12.5])
        case "values":
            let date = Timestamp(milliseconds: 1_764_320_400_500)
            pipeline.track("Order", ["at": .date(date), "tags": ["a", "b"], "place": ["city": "Rome", "floor": 2]])
        case "whole": pipeline.track("Sale", ["amount": 12])
        case "fraction": pipeline.track("Sale", ["amount": 12.5])
        case "login": try identity.login("u-1", ["plan": "pro"])
        case "switch": try identity.login("u-2", ["plan": "free"])
        case "set": identity.profile.set(["plan": "pro", "seats": 5])
        case "set once": identity.profile.setOnce(["first": "2026-11-28"])
        case "increment": try identity.profile.increment(["logins": 1])
        case "append": identity.profile.append(["tags": ["a"]])
        case "unset": identity.profile.unset("plan")
        case "delete": identity.profile.delete()
        case "group": try identity.join(group: "acme", ofType: "company", ["seats": 5])
        case "in group": pipeline.track("Search", ["query": "tea"])
        case "leave group": try identity.leave("company")
        case "alias": try identity.alias("old-1")
        case "new id":
            let formerID = identity.distinctID ?? ""
            try identity.login("u-3")
            try identity.alias(formerID)
        case "screen": screens.show("Product", ["sku": "A-7"])
        case "revenue": pipeline.track(Revenue(25, currency: "EUR", productID: "A-7", quantity: 2))
        case "item set": try identity.setItem("book", "b-1", ["title": "Tea"])
        case "item delete": try identity.deleteItem("book", "b-1")
        case "bind": try identity.bind("$identity_mobile", to: "123")
        case "unbind": try identity.unbind("$identity_mobile")
        case "timed":
            timers.start("Checkout")
            time.advance(by: .milliseconds(1_500))
            timers.end("Checkout", ["items": 2])
        case "registered":
            auto.register(["tier": "gold"])
            pipeline.track("Search", ["query": "tea"])
            auto.unregister("tier")
        case "reset": try identity.reset()
        default: fail("no call \(call)")
        }
    }
}
