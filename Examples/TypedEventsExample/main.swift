// Events as types: an enum, nested values, names of your own, properties by hand, and an event that can't be encoded.
//
//     swift run TypedEventsExample

import SluiceMemory
import SluiceStdout

enum Plan: String, Encodable, PropertyConvertible { case free, pro }

struct Item: Encodable {
    let sku: String
    let count: Int
}

struct Purchase: TrackedEvent {
    static let eventName = "Purchase"
    let items: [Item]
    let amount: Double
    let plan: Plan
    var coupon: String?  // Left out while it is nil.

    enum CodingKeys: String, CodingKey {
        case items, plan, coupon
        case amount = "total_amount"
    }
}

/// Writes its properties by hand.
struct Search: TrackedEvent {
    static let eventName = "Search"
    let query: String
    let results: [String]
    var eventProperties: Properties { Properties(["query": query, "results": results.count]) }
}

/// An array isn't an object, so it has no names for properties.
struct Visited: TrackedEvent {
    static let eventName = "Visited"
    let pages: [String]
    func encode(to encoder: any Encoder) throws { try pages.encode(to: encoder) }
}

let pipeline = try Pipeline(onDiagnostic: { print("# \($0.severity): \($0)") }) {
    MemoryStore()
    StdoutTransport()
}
let query = "shoes"
pipeline.track("Opened", ["query": query, "plan": Plan.free])
pipeline.track(Search(query: query, results: ["A-7", "B-1"]))
let id = pipeline.track(Purchase(items: [Item(sku: "A-7", count: 2)], amount: 25, plan: .pro), priority: .critical)
pipeline.track("Receipt", ["purchase": id])
pipeline.track(Visited(pages: ["/", "/cart"]))
let ledger = await pipeline.shutdown()
precondition(ledger.sanitized == [.unencodable: 1] && ledger.routes[0].delivered == 5 && ledger.isBalanced)
