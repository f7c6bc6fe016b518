// A server with a user for each request: UserScope adds the request's user to its events, in all tasks of the request.
//
//     swift run ServerIdentityExample | jq -c '[.distinct_id, .event, .properties.route]'

import SluiceIdentity
import SluiceStdout
import SluiceTesting

struct Request: Sendable {
    let user: String
    let route: String
    let skus: [String]
}

let store = RecordingStore()  // For the checks below. A server would use a JSONLStore.
let pipeline = try Pipeline {
    UserScope()
    store
    StdoutTransport()
}

/// Knows nothing of requests and their users.
func price(of sku: String) async -> Double {
    await Task.yield()  // Another request can run here, on the same thread.
    pipeline.track("PriceRead", ["sku": sku])
    return Double(sku.count) * 2.5
}

func total(of skus: [String]) async -> Double {
    await withTaskGroup(of: Double.self) { group in
        for sku in skus {
            group.addTask { await price(of: sku) }  // A child task has the user of its request.
        }
        return await group.reduce(0, +)
    }
}

func isCreditworthy() async -> Bool {
    pipeline.track("CreditCheck")
    return true
}

func handle(_ request: Request) async {
    await UserScope.with(distinctID: request.user, properties: ["route": request.route]) {
        pipeline.track("Order", ["items": request.skus.count])
        async let total = total(of: request.skus)  // So has `async let`.
        async let isCreditworthy = isCreditworthy()
        pipeline.track("Payment", ["total": await total, "is_accepted": await isCreditworthy])
        // A detached task has no user, until you open a scope in it.
        let receipt = Task.detached {
            pipeline.track("ReceiptStarted")
            UserScope.with(distinctID: request.user, properties: ["route": request.route]) {
                _ = pipeline.track("ReceiptWritten")
            }
        }
        await receipt.value
    }
}

let requests = (1...20).map { number in
    Request(user: "user-\(number)", route: "/orders/\(number)", skus: ["A-7", "B-\(number)"])
}
await withTaskGroup(of: Void.self) { group in
    for request in requests { group.addTask { await handle(request) } }
}
pipeline.track("Idle")  // Outside of all requests.
await pipeline.shutdown()

for request in requests {
    let events = store.events.filter { $0.distinctID == request.user }
    precondition(events.allSatisfy { $0.properties["route"]?.string == request.route })
    let names = events.map(\.name).sorted()
    precondition(names == ["CreditCheck", "Order", "Payment", "PriceRead", "PriceRead", "ReceiptWritten"])
}
let others = store.events.filter { $0.distinctID == nil }.map(\.name)
precondition(others == Array(repeating: "ReceiptStarted", count: requests.count) + ["Idle"])
