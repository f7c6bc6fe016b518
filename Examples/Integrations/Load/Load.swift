// What RequestTracking adds to the latency of a request.
//
//     swift run -c release Load [--requests 10000]
//
// Two servers on loopback have the same handler, one of them with the middleware and a JSONLStore. Single requests go to
// one after the other, in alternating order, so that both see the same machine. The command fails if an event is missing.

import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import Sluice
import SluiceHummingbird
import SluiceIdentity
import SluiceJSONL

@main
enum Load {
    static func main() async throws {
        let arguments = CommandLine.arguments
        let count = arguments.firstIndex(of: "--requests").flatMap { Int(arguments[$0 + 1]) } ?? 10_000
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-load-\(UUID().uuidString)")
        defer { do { try FileManager.default.removeItem(at: folder) } catch { print("# \(error)") } }
        let pipeline = try Pipeline {
            UserScope()
            JSONLStore(at: folder.path)
            NullTransport()
        }
        let latencies = try await withThrowingTaskGroup(of: Void.self) { group in
            let ports = AsyncStream<(isTracked: Bool, port: Int)>.makeStream()
            for isTracked in [false, true] {
                let server = server(tracking: isTracked ? pipeline : nil) { port in
                    ports.continuation.yield((isTracked, port))
                }
                group.addTask { try await server.run() }
            }
            var urls: [Bool: String] = [:]
            for await (isTracked, port) in ports.stream {
                urls[isTracked] = "http://127.0.0.1:\(port)/products/"
                if urls.count == 2 { break }
            }
            defer { group.cancelAll() }
            return try await measure(urls, count)
        }
        let ledger = await pipeline.shutdown()
        report(latencies)
        print("requests \(count + warmUp), events \(ledger.tracked), delivered \(ledger.routes[0].delivered)")
        guard ledger.isBalanced, ledger.routes[0].delivered == count + warmUp else { exit(1) }
    }

    private static let warmUp = 500

    private static func server(
        tracking pipeline: Pipeline?, _ onRunning: @escaping @Sendable (Int) -> Void
    ) -> Application<RouterResponder<BasicRequestContext>> {
        let router = Router(context: BasicRequestContext.self)
        if let pipeline {
            router.add(
                middleware: RequestTracking(by: pipeline) { request, _ in
                    RequestUser(anonymousID: request.cookies["visitor"]?.value)
                })
        }
        router.get("/products/:id") { _, context in
            let id = try context.parameters.require("id")
            return (1...40).map { "<li><a href=\"/products/\(id)-\($0)\">Product \(id)-\($0)</a></li>" }.joined()
        }
        var logger = Logger(label: "Load")
        logger.logLevel = .critical  // The servers are cancelled at the end, which they log.
        return Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in onRunning(channel.localAddress?.port ?? 0) }, logger: logger)
    }

    /// Returns the latencies of both servers in nanoseconds, without those of the first requests.
    private static func measure(_ urls: [Bool: String], _ count: Int) async throws -> [Bool: [Int64]] {
        var latencies: [Bool: [Int64]] = [:]
        for number in 0..<(warmUp + count) {
            for isTracked in number.isMultiple(of: 2) ? [false, true] : [true, false] {
                var request = HTTPClientRequest(url: (urls[isTracked] ?? "") + "\(number)")
                request.headers.add(name: "Cookie", value: "visitor=\(number % 100)")
                let start = ContinuousClock.now
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
                _ = try await response.body.collect(upTo: 1_000_000)
                let duration = (ContinuousClock.now - start).components
                guard number >= warmUp else { continue }
                latencies[isTracked, default: []].append(
                    duration.seconds * 1_000_000_000 + duration.attoseconds / 1_000_000_000)
            }
        }
        return latencies.mapValues { $0.sorted() }
    }

    private static func report(_ latencies: [Bool: [Int64]]) {
        guard let plain = latencies[false], let tracked = latencies[true] else { return }
        print("latency            without     with    ratio")
        for percent in [50, 90, 99] {
            let values = [plain, tracked].map { Double($0[($0.count - 1) * percent / 100]) / 1_000 }
            print("percentile \(percent)  ".padding(toLength: 16, withPad: " ", startingAt: 0), terminator: "")
            print(String(format: "%7.1f µs %7.1f µs %6.3f", values[0], values[1], values[1] / values[0]))
        }
        let sums = [plain, tracked].map { Double($0.reduce(0, +)) / Double($0.count) / 1_000 }
        print(String(format: "mean            %7.1f µs %7.1f µs %6.3f", sums[0], sums[1], sums[1] / sums[0]))
    }
}
