// Writes each event as a line of JSON to standard output: pipe it into jq, or let your server's platform collect it.
//
//     swift run StdoutTransportExample | jq .properties

import SluiceMemory
import SluiceStdout

let pipeline = try Pipeline {
    MemoryStore()
    StdoutTransport()
}

pipeline.track("Search", ["query": "blue shoes", "results": 42])
pipeline.track("Say \"hi\"\n", ["a line\nbreak": "stays inside its string: \u{0} too"])
pipeline.track("Purchase", ["amount": 12.5, "at": Timestamp(milliseconds: 1_763_704_516_123)])

let report = await pipeline.flush()
precondition(report.delivered == 3)
