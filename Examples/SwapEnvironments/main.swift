// The same host code in development, test and production: only the pipeline's store and transport change.
//
//     swift run SwapEnvironments [development|test|production [URL]]

import Foundation
import SluiceAutoProperties
import SluiceHTTP
import SluiceJSONL
import SluiceMemory
import SluiceStdout
import SluiceTesting

enum Stage: String, CaseIterable {
    case development, test, production
}

/// The stages that all environments share.
@PipelineBuilder func common() -> ProcessorFragment {
    AutoProperties()
}

func makePipeline(_ stage: Stage, recorder: ScriptedTransport, folder: String, url: String) throws -> Pipeline {
    try Pipeline {
        common()
        switch stage {
        case .development:
            MemoryStore()
            StdoutTransport()
        case .test:
            MemoryStore()
            recorder
        case .production:
            JSONLStore(at: folder)
            HTTPTransport(to: url, format: .ndjson)
        }
    }
}

/// The host's code, which doesn't depend on stores and transports.
func shop(_ pipeline: Pipeline) {
    pipeline.track("ProductViewed", ["sku": "A-7"])
    pipeline.track("Purchase", ["sku": "A-7", "amount": 12.5])
}

func fail(_ problem: String) -> Never {
    print("SwapEnvironments: \(problem)\nusage: SwapEnvironments [development|test|production [URL]]")
    exit(64)  // EX_USAGE
}

let words = CommandLine.arguments.dropFirst()
let stages = words.first.map { word in Stage.allCases.filter { $0.rawValue == word } } ?? Stage.allCases
if stages.isEmpty { fail("there is no environment of this name") }
let url = words.dropFirst().first ?? "http://127.0.0.1:9"  // The discard port, which has no listener.
let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-\(UUID().uuidString)").path

for stage in stages {
    let recorder = ScriptedTransport()
    let pipeline: Pipeline
    do {
        pipeline = try makePipeline(stage, recorder: recorder, folder: folder, url: url)
    } catch {
        fail("\(error)")
    }
    shop(pipeline)
    let route = await pipeline.shutdown(timeout: .seconds(1)).routes[0]
    print("\(stage): \(route.delivered) delivered, \(route.waiting) kept for the next launch")
    precondition(route.delivered + route.waiting == 2)
}
