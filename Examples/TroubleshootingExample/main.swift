// Nothing arrives: the five usual reasons, and the text that you see for each.
//
//     swift run TroubleshootingExample

import SluiceFilters
import SluiceHTTP
import SluiceMemory

/// A server that answers each request with the same status, or none that can be reached.
struct FakeServer: HTTPClient {
    let status: Int?

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let status else {
            throw SluiceError(.inputOutput, "the HTTP request failed: Couldn't connect to server")
        }
        return HTTPResponse(status: status)
    }
}

func transport(_ status: Int?) -> HTTPTransport {
    HTTPTransport(
        to: "https://collector.example/events", format: .ndjson,
        configuration: .init(client: FakeServer(status: status)))
}

func check(_ title: String) { print("\n# \(title)") }

check("1. Is the event dropped before the store?")
let filtered = try Pipeline {
    Consent(persistedIn: .memory)
    MemoryStore()
    transport(204)
}
filtered.track("Purchase")
print(filtered.ledger)

check("2. Does it wait for its time?")
let waiting = try Pipeline {
    MemoryStore()
    transport(204)
}
waiting.track("Purchase")
print(waiting.ledger)
print(await waiting.flush())

check("3. Can the server be reached?")
let unreachable = try Pipeline(onDiagnostic: { print($0) }) {
    MemoryStore()
    transport(nil)
}
unreachable.track("Purchase")
await unreachable.flush()
print(unreachable.ledger)

check("4. Does the server take nothing?")
let refused = try Pipeline(onDiagnostic: { print($0) }) {
    MemoryStore()
    transport(401)
}
refused.track("Purchase")
await refused.flush()
print(refused.ledger)

check("5. Does the server reject this event?")
/// Refuses one event, and accepts all others.
struct PickyServer: HTTPClient {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        HTTPResponse(status: String(decoding: request.body, as: UTF8.self).contains("Purchase") ? 400 : 204)
    }
}
// Only these two kinds, because the count of the others is random.
let rejected = try Pipeline(onDiagnostic: { if [.searching, .rejected].contains($0.kind) { print($0) } }) {
    MemoryStore()
    HTTPTransport(
        to: "https://collector.example/events", format: .ndjson,
        configuration: .init(gzip: false, client: PickyServer()))
}
rejected.track("Purchase")
// Other events show that the server is well.
for _ in 1...20 {
    rejected.track("Search")
    await rejected.flush()
}
print(rejected.ledger)
for letter in try await rejected.deadLetters() { print("dead letter: \(try letter.event().name): \(letter.reason)") }

precondition(filtered.ledger.dropped == [.consentPending: 1] && waiting.ledger.routes[0].delivered == 1)
precondition(unreachable.ledger.routes[0].attempts.failed == 1 && refused.ledger.routes[0].attempts.failed == 1)
precondition(rejected.ledger.routes[0].deadLetters == 1)
