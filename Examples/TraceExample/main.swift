// Why did an event not arrive, and which stage changed it? A trace shows the way of each event.
//
//     swift run TraceExample

import SluiceFilters
import SluiceMemory
import SluiceTesting

/// Adds the shop's currency to every event that has a price, and makes it urgent.
struct Currency: Processor {
    let code: String

    func process(_ event: inout Event) -> Disposition {
        guard event.properties["price"] != nil else { return .keep }
        event.properties["currency"] = code
        event.priority = .critical
        return .keep
    }
}

let consent = Consent(persistedIn: .memory, whilePending: .hold)
let traces = TraceRecorder()  // For the checks below. To look at traces, you only need to print them.

func printTrace(_ trace: EventTrace) {
    traces.record(trace)
    print(trace, terminator: "\n\n")
}

let pipeline = try Pipeline(maximumEventBytes: 1_000, onTrace: printTrace) {
    Currency(code: "EUR")
    consent
    Redaction(keys: ["email"])
    Route("all") {
        MemoryStore()
        NullTransport()
    }
    Route("sales") {
        EventNames(allowed: ["Purchase"])
        MemoryStore()
        NullTransport()
    }
}

print("# The user hasn't been asked yet: the event is held\n")
let purchase = pipeline.track("Purchase", ["price": 12.5, "email": "a@b.example"])

print("# The user agrees: the event continues below Consent\n")
try consent.grant()

print("# A view is no sale, and a long text is larger than maximumEventBytes\n")
let view = pipeline.track("View", ["sku": "A-7"])
let review = pipeline.track("Review", ["text": String(repeating: "very ", count: 300) + "good"])

print("# After a shutdown\n")
await pipeline.shutdown()
let late = pipeline.track("Late")

precondition(traces.traces(of: purchase).map(\.startsBelow) == [nil, "Consent"])
precondition(traces.traces(of: purchase).map(\.isStored) == [false, true])
precondition(traces.stage(dropping: view)?.route == "sales")
precondition(traces.traces(of: review)[0].routes[0].disposition == .drop(.tooLarge))
precondition(traces.traces(of: late)[0].disposition == .drop(.shutDown))
