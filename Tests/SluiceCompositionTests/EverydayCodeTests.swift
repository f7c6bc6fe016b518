import Foundation
import Sluice
import SluiceDuration
import SluiceFoundation
import SluiceIdentity
import SluiceTesting
import Testing

/// Code as developers write it. That it compiles is half of the test; the other half is the event that it tracks.
@Suite("Everyday code compiles, and tracks the values that it shows")
struct EverydayCodeTests {
    enum Plan: String, Encodable, PropertyConvertible { case free, pro }
    enum Level: Int, PropertyConvertible { case low = 1, high }
    struct Money: PropertyConvertible {
        let cents: Int
        var propertyValue: PropertyValue { .double(Double(cents) / 100) }
    }
    struct Item: Encodable {
        let sku: String
        let count: Int
    }
    struct Purchase: TrackedEvent {
        static let eventName = "Purchase"
        let items: [Item]
        let plan: Plan
        var coupon: String?
    }

    /// A line of a host, and the properties of the event that it tracks.
    struct Snippet: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let expected: Properties
        let code: @Sendable (Host) throws -> Void

        init(_ name: String, _ expected: Properties, _ code: @escaping @Sendable (Host) throws -> Void) {
            testDescription = name
            self.expected = expected
            self.code = code
        }
    }

    /// The plugins and variables of a host.
    struct Host: Sendable {
        let store = RecordingStore()
        let timers = DurationTimer()
        let screens = Screens()
        let identity = Identity(persistedIn: .memory)
        let context = Asking()
        let pipeline: Pipeline

        let query = "shoes"
        let count = 3
        let price = 12.5
        let isGift = true
        let coupon: String? = nil
        let nickname: String? = "Kim"
        let tags = ["a", "b"]
        let scores = ["kim": 1, "alex": 2]
        let plan = Plan.pro
        let date = Date(timeIntervalSince1970: 1_800_000_000.123)
        let url: URL
        let uuid: UUID

        init() throws {
            url = try #require(URL(string: "https://shop.example/a?b=c"))
            uuid = try #require(UUID(uuidString: "01A2007F-E003-76DB-BCCB-B2A529CD75A3"))
            let (store, timers, screens, identity, context) = (store, timers, screens, identity, context)
            pipeline = try Pipeline {
                timers
                screens
                identity
                context
                store
                NullTransport()
            }
            // For the screens.
            pipeline.signal(.didBecomeActive)
        }

        /// The properties of the last event, or the object of that name in them.
        func last(_ object: String? = nil) -> Properties? {
            let properties = store.events.last?.properties
            return object.map { properties?[$0]?.object } ?? properties
        }
    }

    final class Asking: Processor {
        let context = PluginContext()
        func process(_ event: inout Event) -> Disposition {
            let length = event.name.count
            if event.name == "Ask" { context.insert("Inserted", ["length": length], before: event) }
            return .keep
        }
    }

    static let moment = Timestamp(milliseconds: 1_800_000_000_123)

    static let literals = [
        Snippet("an empty call", [:]) { $0.pipeline.track("E") },
        Snippet("literals", ["s": "x", "i": 1, "d": 1.5, "b": true, "n": nil, "j": -1, "e": -1.5]) {
            $0.pipeline.track("E", ["s": "x", "i": 1, "d": 1.5, "b": true, "n": nil, "j": -1, "e": -1.5])
        },
        Snippet("nested literals of several types", ["a": [1, "x", nil], "o": ["k": 1, "l": ["m": true]]]) {
            $0.pipeline.track("E", ["a": [1, "x", nil], "o": ["k": 1, "l": ["m": true]]])
        },
        Snippet("an interpolation, a ternary and sums of literals", ["a": "3 shoes", "b": "gift", "c": 3, "d": "ab"]) {
            $0.pipeline.track(
                "E", ["a": "\($0.count) \($0.query)", "b": $0.isGift ? "gift" : "own", "c": 1 + 2, "d": "a" + "b"])
        },
    ]

    static let variables = [
        Snippet("a string", ["v": "shoes"]) { $0.pipeline.track("E", ["v": $0.query]) },
        Snippet("an int", ["v": 3]) { $0.pipeline.track("E", ["v": $0.count]) },
        Snippet("an optional", ["v": "Kim"]) { $0.pipeline.track("E", ["v": $0.nickname]) },
        Snippet("numbers, and a float keeps its digits", ["a": 12.5, "b": true, "c": 0.1]) {
            $0.pipeline.track("E", ["a": $0.price, "b": $0.isGift, "c": Float(0.1)])
        },
        Snippet("integers of all widths", ["a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9]) {
            $0.pipeline.track(
                "E",
                [
                    "a": Int8(1), "b": Int16(2), "c": Int32(3), "d": Int64(4), "e": UInt(5), "f": UInt8(6),
                    "g": UInt16(7), "h": UInt32(8), "i": UInt64(9),
                ])
        },
        Snippet("an integer beyond 64 bits", ["v": 18_446_744_073_709_551_615.0]) {
            $0.pipeline.track("E", ["v": UInt64.max])
        },
        Snippet("texts", ["a": "sho", "b": "s"]) {
            $0.pipeline.track("E", ["a": $0.query.prefix(3), "b": Character("s")])
        },
        Snippet("optionals, and nil beside variables", ["a": nil, "b": "Kim", "c": "none", "d": 3, "e": nil]) {
            $0.pipeline.track(
                "E",
                [
                    "a": $0.coupon, "b": $0.nickname, "c": $0.coupon ?? "none", "d": $0.nickname?.count, "e": .null,
                ])
        },
        Snippet("an array", ["v": ["a", "b"]]) { $0.pipeline.track("E", ["v": $0.tags]) },
        Snippet("arrays", ["a": [1, nil], "b": [["a", "b"], []], "c": ["b"], "d": ["shoes", "Kim"]]) {
            $0.pipeline.track(
                "E",
                [
                    "a": [1, nil] as [Int?], "b": [$0.tags, []], "c": $0.tags[1...], "d": [$0.query, $0.nickname],
                ])
        },
        Snippet("dictionaries", ["a": ["kim": 1, "alex": 2], "b": ["t": ["a", "b"]]]) {
            $0.pipeline.track("E", ["a": $0.scores, "b": ["t": $0.tags]])
        },
        Snippet("enums and types of the host", ["a": "pro", "b": 2, "c": "pro", "d": ["free", "pro"], "e": 12.34]) {
            $0.pipeline.track(
                "E",
                [
                    "a": $0.plan, "b": Level.high, "c": $0.plan.rawValue, "d": [Plan.free, .pro],
                    "e": Money(cents: 1_234),
                ])
        },
        Snippet(
            "values of Foundation",
            [
                "a": .date(moment), "b": "https://shop.example/a?b=c", "c": "01A2007F-E003-76DB-BCCB-B2A529CD75A3",
                "d": 12.5,
            ]
        ) {
            $0.pipeline.track("E", ["a": $0.date, "b": $0.url, "c": $0.uuid, "d": Decimal(string: "12.50")])
        },
        Snippet("values of Sluice", ["a": .date(moment), "b": "01a2007f-e003-76db-bccb-b2a529cd75a3"]) {
            $0.pipeline.track("E", ["a": moment, "b": EventID("01a2007f-e003-76db-bccb-b2a529cd75a3")])
        },
    ]

    static let expressions = [
        Snippet("expressions with variables", ["a": 42.5, "b": true, "c": "shoes!", "d": "shoes"]) {
            $0.pipeline.track(
                "E",
                [
                    "a": $0.price * Double($0.count) + 5, "b": $0.count > 2 && !$0.tags.isEmpty, "c": $0.query + "!",
                    "d": $0.isGift ? $0.query : "none",
                ])
        },
        Snippet("calls of the standard library", ["a": "SHOES", "b": 3, "c": "a", "d": "a,b"]) {
            $0.pipeline.track(
                "E",
                [
                    "a": $0.query.uppercased(), "b": $0.scores.values.reduce(0, +), "c": $0.tags.first,
                    "d": $0.tags.joined(separator: ","),
                ])
        },
        Snippet("wrapped values", ["a": "shoes", "b": 3, "c": .date(moment)]) {
            $0.pipeline.track("E", ["a": .string($0.query), "b": .int($0.count), "c": .date($0.date)])
        },
        Snippet(
            "wrapped values beside variables",
            ["a": "shoes", "b": 3, "c": 12.5, "d": true, "e": .date(moment), "f": .date(moment), "g": nil]
        ) {
            $0.pipeline.track(
                "E",
                [
                    "a": $0.query, "b": .int($0.count), "c": .double($0.price), "d": .bool($0.isGift),
                    "e": .date($0.date), "f": .date(moment), "g": .null,
                ])
        },
        Snippet(
            "a mixed object and a mixed array beside a variable",
            ["a": "shoes", "o": ["n": 3, "x": 1.5], "l": [1, "shoes", nil]]
        ) {
            $0.pipeline.track(
                "E", ["a": $0.query, "o": .object(["n": $0.count, "x": 1.5]), "l": .array([1, $0.query, nil])])
        },
    ]

    static let snippets = literals + variables + expressions + lists + verbs

    @Test("a snippet tracks its values", arguments: snippets)
    func snippetTracksItsValues(snippet: Snippet) throws {
        let host = try Host()
        try snippet.code(host)
        let event = try #require(host.store.events.last)
        #expect(event.properties == snippet.expected, "\(event)")
    }

    @Test("a literal keeps the order of its names, and the later of two values, also with variables of one type")
    func literalKeepsOrder() throws {
        let host = try Host()
        let (first, second) = ("1", "2")
        host.pipeline.track("E", ["z": first, "a": second, "z": second])
        #expect(host.last()?.map(\.name) == ["z", "a"] && host.last()?["z"] == "2")
        host.timers.end("E", ["z": first, "a": second, "z": second])
        #expect(host.last()?.map(\.name) == ["z", "a"] && host.last()?["z"] == "2")
        #expect(Properties(["z": first, "a": second, "z": second]).map(\.name) == ["z", "a"])
    }

    @Test("every verb of every product takes variables")
    func verbsTakeVariables() throws {
        let host = try Host()
        let (sku, amount) = ("A-7", 2)
        host.pipeline.track("Ask")
        #expect(host.store.events.map(\.name) == ["Inserted", "Ask"])
        #expect(host.store.events.first?.properties["length"] == 3)

        try host.identity.login("kim", ["sku": sku])
        #expect(host.last("$set") == ["sku": "A-7"])
        try host.identity.join(group: "acme", ofType: "company", ["size": amount])
        #expect(host.last("$group_set") == ["size": 2])
        try host.identity.setItem("book", "b1", ["pages": amount])
        #expect(host.last("$item") == ["pages": 2])
        host.identity.profile.set(["sku": sku])
        #expect(host.last("$set") == ["sku": "A-7"])
        host.identity.profile.setOnce(["sku": sku])
        #expect(host.last("$set_once") == ["sku": "A-7"])
        try host.identity.profile.increment(["visits": amount])
        #expect(host.last("$increment") == ["visits": 2])
        host.identity.profile.append(["skus": sku])
        #expect(host.last("$append") == ["skus": ["A-7"]])

        let screen = host.screens.enter("S")
        host.screens.leave(screen, ["sku": sku])
        #expect(host.last()?["sku"] == "A-7")
        host.screens.enter("S")
        host.screens.leave("S", ["amount": amount])
        #expect(host.last()?["amount"] == 2)
    }
}
