// Posts events to your collector, as a JSON array.
//
//     swift run HTTPTransportExample http://127.0.0.1:8080/events

import Foundation
import SluiceHTTP
import SluiceMemory

func fail(_ problem: String) -> Never {
    print("HTTPTransportExample: \(problem)\nusage: HTTPTransportExample URL")
    exit(64)  // EX_USAGE
}

guard CommandLine.arguments.count == 2 else { fail("pass the URL of your collector") }

let pipeline: Pipeline
do {
    pipeline = try Pipeline(onDiagnostic: { print($0) }) {
        MemoryStore()
        HTTPTransport(to: CommandLine.arguments[1])
    }
} catch {
    fail("\(error)")
}

pipeline.track("AppOpened")
pipeline.track("Search", ["query": "blue shoes", "results": 42])
pipeline.track("Purchase", ["amount": 12.5, "sku": "A-7"], priority: .critical)

let ledger = await pipeline.shutdown(timeout: .seconds(10))
let route = ledger.routes[0]
print("\(route.delivered) of \(ledger.tracked) events delivered, \(route.waiting) left")
print("\(route.attempts.failed) send attempts failed")
exit(route.delivered < ledger.tracked ? 1 : 0)
