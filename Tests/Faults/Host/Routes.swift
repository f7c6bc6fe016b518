import Sluice
import SluiceHTTP
import SluiceJSONL
import SluiceMemory
import SluiceStdout

/// A whole host: a store on disk whose events go to a server, and a store in memory whose events go to the standard output.
///
/// Its report is an object on one line: the number of events that each route delivered, and the failures.
struct Routes {
    private let directory: String
    private let url: String
    private let count: Int
    private let report: String

    init(_ arguments: ArraySlice<String>) {
        let arguments = Array(arguments)
        guard arguments.count == 4, let count = Int(arguments[2]) else {
            System.fail("FaultHost routes DIRECTORY URL COUNT REPORT")
        }
        (directory, url, self.count, report) = (arguments[0], arguments[1], count, arguments[3])
    }

    func run() async {
        var failures: [String] = []
        var routes: [RouteLedger] = []
        do {
            let pipeline = try pipeline(withStdout: &failures)
            for number in 0..<count { pipeline.track(NumberedEvent.name, ["number": .int(Int64(number))]) }
            await pipeline.flush()
            routes = await pipeline.shutdown().routes
        } catch {
            failures.append("\(error)")
        }
        let delivered = routes.map { "\"\($0.name)\":\($0.delivered)" }.joined(separator: ",")
        let problems = failures.map { "\"" + $0.filter { $0 != "\"" && $0 != "\\" } + "\"" }.joined(separator: ",")
        do {
            let file = try OpenFile(report, [.write, .create], in: SystemFileSystem())
            try file.write(Array(#"{"delivered":{\#(delivered)},"failures":[\#(problems)]}"#.utf8)[...])
        } catch {
            System.fail("\(error)")
        }
    }

    /// Without the standard output, only the other route is built.
    private func pipeline(withStdout failures: inout [String]) throws -> Pipeline {
        do {
            return try Pipeline {
                http
                Route("stdout") {
                    MemoryStore(capacity: 10_000_000)
                    StdoutTransport()
                }
            }
        } catch {
            failures.append("\(error)")
            return try Pipeline { http }
        }
    }

    private var http: Route {
        Route("http") {
            JSONLStore(at: directory, durability: .interval(milliseconds: 5))
            HTTPTransport(to: url, format: .ndjson)
        }
    }
}
