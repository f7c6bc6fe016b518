// A server that loses nothing when it ends: SIGTERM and SIGINT (control-C) flush within a deadline.
//
//     swift run ServerExample            ends after three requests
//     swift run ServerExample --wait     waits for control-C, or for kill
//     EVENTS_DIR=/var/lib/shop/events swift run ServerExample

import SluiceJSONL
import SluiceLifecycle
import SluiceMemory
import SluiceStdout

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

let isWaiting = CommandLine.arguments.contains("--wait")
if let word = CommandLine.arguments.dropFirst().first(where: { $0 != "--wait" }) {
    print("ServerExample: there is no option \(word)\nusage: ServerExample [--wait]")
    exit(64)  // EX_USAGE
}
let directory = getenv("EVENTS_DIR").map { String(cString: $0) }
let pipeline: Pipeline
do {
    pipeline = try Pipeline {
        Sessions(.idle(.seconds(1_800)))
        LifecycleEvents()
        if let directory {
            JSONLStore(at: directory)  // In a container: a volume.
        } else {
            MemoryStore()
        }
        StdoutTransport()
    }
} catch {
    print("ServerExample: \(error)")
    exit(78)  // EX_CONFIG
}
// By default the process ends with the signal, as the system expects. This one continues, and returns from main.
let (ended, end) = AsyncStream<Int32>.makeStream()
let signals = ProcessSignals(to: pipeline, timeout: .seconds(3)) { number in
    if isWaiting { return ProcessSignals.endProcess(number) }
    end.yield(number)
    end.finish()
}
for number in 1...3 { pipeline.track("Request", ["number": number]) }
if isWaiting {
    let note = "# waiting for control-C\n"
    _ = write(STDERR_FILENO, note, note.utf8.count)
} else {
    kill(getpid(), SIGTERM)
}
for await number in ended { print("# ended by signal \(number), with \(pipeline.ledger.routes[0].waiting) waiting") }
withExtendedLifetime(signals) {}
