// Your own plugins: two processors, a store, a transport and a wire format, each checked with its contract.
//
//     swift run CustomPlugin

import Foundation
import SluiceHTTP
import SluiceTesting

let audit = FileManager.default.temporaryDirectory.appending(path: "sluice-audit-\(UUID().uuidString).tsv").path

try await ProcessorContract.check { Currency(code: "EUR") }
try await ProcessorContract.check { BurstGate() }
try await StoreContract.check { ArrayStore() }
try await TransportContract.check { AuditFile(at: audit) }
try await FileStore.check()
print("Currency, BurstGate, ArrayStore, FileStore and AuditFile keep their contracts")
try FileManager.default.removeItem(atPath: audit)

/// Answers as the shop would, without a network.
struct FakeShop: HTTPClient {
    let body: String

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        HTTPResponse(status: 200, body: Array(body.utf8))
    }
}

try await TransportContract.check {
    HTTPTransport(
        to: "https://shop.example", format: HTTPFormat(ShopFormat(token: "…")),
        configuration: .init(client: FakeShop(body: #"{"failed":{}}"#)))
}
print("ShopFormat keeps the contract of a transport")

let gate = BurstGate()
let pipeline = try Pipeline {
    gate
    Currency(code: "EUR")
    ArrayStore()
    AuditFile(at: audit)
}
pipeline.track("Purchase", ["price": 12.5])
gate.close()
pipeline.track("Search", ["query": "blue shoes"])
pipeline.track("Purchase", ["price": 3])
precondition(pipeline.ledger.held == 2)
gate.open()
precondition(pipeline.ledger.held == 0 && pipeline.ledger.tracked == 4)
await pipeline.shutdown()
let lines = try String(contentsOfFile: audit, encoding: .utf8).split(separator: "\n")
print("The audit file has \(lines.count) lines:")
for line in lines { print(line) }
precondition(
    lines.map { $0.split(separator: "\t")[2] } == [#""Purchase""#, #""GateOpened""#, #""Search""#, #""Purchase""#])
try FileManager.default.removeItem(atPath: audit)

try await Guides.printPurchase()
try await Guides.printEvents()
try await Guides.hostTest()
try Guides.recordedEvents()
try Guides.tracesInTests()
try await Guides.failingStore()
