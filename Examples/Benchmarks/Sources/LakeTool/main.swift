// Fills a queue with a shop's events, of 400 bytes a stored line, and delivers them to a lake:
//
//     LakeTool fill QUEUE COUNT
//     LakeTool plain QUEUE LAKE      prints the delivered events, the seconds and the largest resident memory in MB
//     LakeTool gzip QUEUE LAKE       the same, to compressed files
//
// A fourth argument is the number of batches in flight.

// The libraries of Foundation would be a third of the memory.

import SluiceFiles
import SluiceJSONL

#if canImport(Glibc)
    import Glibc
#endif

let arguments = CommandLine.arguments

func properties(_ index: Int) -> Properties {
    [
        "$app_version": "2.4.1", "$os": "Linux", "$os_version": "6.1", "currency": "EUR",
        "category": .string("shoes/running/trail-\(index % 64)"), "sku": .string("A-\(index % 9_973)"),
        "product": .string("Trail running shoes, waterproof, size \(index % 12 + 36)"),
        "referrer": .string("https://shop.example/search?q=trail&page=\(index % 50)"), "stock": .int(1_000_000 - index),
        "amount": .double(Double(index % 9_000) + 0.99), "is_gift": .bool(index % 2 == 0),
    ]
}

/// The largest resident memory of this process in MB; 0 on other systems than Linux.
func peak() -> Int {
    #if canImport(Glibc)
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss / 1_000
    #else
        return 0
    #endif
}

let start = ContinuousClock.now
let isFilled = arguments[1] == "fill"
var delivery = DeliveryPolicy.files
if arguments.count > 4, let batches = Int(arguments[4]) { delivery.maximumBatchesInFlight = batches }
let pipeline = try Pipeline(delivery: delivery, isDeliveryPaused: isFilled) {
    JSONLStore(at: arguments[2], capacity: 1 << 30)
    FileTransport(at: isFilled ? "/nowhere" : arguments[3], gzip: arguments[1] == "gzip")
}
if isFilled {
    let count = Int(arguments[3]) ?? 0
    for first in stride(from: 0, to: count, by: 1_000) {
        pipeline.trackTogether {
            for index in first..<min(first + 1_000, count) { pipeline.track("Purchase", properties(index)) }
        }
    }
    print(await pipeline.shutdown(timeout: .zero).routes[0].waiting)
} else {
    let delivered = await pipeline.shutdown(timeout: .seconds(600)).routes[0].delivered
    print(delivered, (ContinuousClock.now - start) / .seconds(1), peak())
}
