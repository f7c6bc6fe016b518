import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import NIOHTTP1
import SluiceIdentity
import SluiceJSONL

/// Measures how much tracking adds to the latency of the shop's page.
///
/// Three shops on loopback differ only in tracking: one tracks nothing, and two store the events with different durabilities.
/// Single requests go to one after the other, in all six orders, because work in the background after a request can delay
/// the next one.
enum Load {
    private static let warmUp = 500
    private static let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]]

    /// Sends the requests and prints the latencies.
    ///
    /// - Returns: Whether every event was delivered.
    static func run(_ count: Int) async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-load-\(UUID().uuidString)")
        defer { do { try FileManager.default.removeItem(at: folder) } catch { print("# \(error)") } }
        func pipeline(_ durability: JSONLStore.Durability) throws -> Pipeline {
            try Pipeline {
                UserScope()
                JSONLStore(at: folder.appending(path: "\(durability)").path, durability: durability)
                NullTransport()
            }
        }
        let pipelines = [nil, try pipeline(.process), try pipeline(.buffered)]
        let latencies = try await withThrowingTaskGroup(of: Void.self) { group in
            let running = AsyncStream<(shop: Int, url: String)>.makeStream()
            for (index, pipeline) in pipelines.enumerated() {
                let shop = shop(trackedBy: pipeline) { running.continuation.yield((index, $0)) }
                group.addTask {
                    defer { running.continuation.finish() }
                    try await shop.run()
                }
            }
            var urls: [Int: String] = [:]
            for await (shop, url) in running.stream {
                urls[shop] = url
                if urls.count == pipelines.count { break }
            }
            defer { group.cancelAll() }
            if urls.count < pipelines.count { try await group.next() }  // A shop could not start.
            return try await measure(urls, count)
        }
        report(latencies)
        var isComplete = true
        for pipeline in pipelines {
            guard let ledger = await pipeline?.shutdown() else { continue }
            print("requests \(count + warmUp), events \(ledger.tracked), delivered \(ledger.routes[0].delivered)")
            isComplete = isComplete && ledger.isBalanced && ledger.routes[0].delivered == count + warmUp
        }
        return isComplete
    }

    private static func shop(
        trackedBy tracker: (any EventTracking)?, onRunning: @escaping @Sendable (String) -> Void
    ) -> Application<RouterResponder<ShopContext>> {
        var logger = Logger(label: "Shop")
        logger.logLevel = .critical  // The servers are cancelled at the end, which they log.
        return Application(
            router: Shop.router(tracker), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in onRunning("http://127.0.0.1:\(channel.localAddress?.port ?? 0)/") },
            logger: logger)
    }

    /// Returns the latencies of each shop in microseconds, ascending, without those of the first requests.
    private static func measure(_ urls: [Int: String], _ count: Int) async throws -> [[Double]] {
        var latencies = urls.keys.sorted().map { _ in [Double]() }
        for number in 0..<(warmUp + count) {
            for shop in orders[number % orders.count] {
                var request = HTTPClientRequest(url: urls[shop] ?? "")
                // The headers of a browser.
                request.headers = [
                    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                    "Accept-Language": "en-US,en;q=0.5",
                    "Cookie": "visitor=visitor-\(number % 100)",
                ]
                let start = ContinuousClock.now
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
                _ = try await response.body.collect(upTo: 1_000_000)
                if number >= warmUp { latencies[shop].append((ContinuousClock.now - start) / .microseconds(1)) }
            }
        }
        return latencies.map { $0.sorted() }
    }

    private static func report(_ latencies: [[Double]]) {
        print("latency of      no event       .process             .buffered")
        func row(_ name: String, _ value: ([Double]) -> Double) {
            let values = latencies.map(value)
            print(name.padding(toLength: 13, withPad: " ", startingAt: 0), terminator: "")
            print(String(format: "%8.1f µs", values[0]), terminator: "")
            for value in values.dropFirst() {
                print(String(format: "  %8.1f µs %7.3f", value, value / values[0]), terminator: "")
            }
            print()
        }
        for percent in [50, 90, 99] { row("percentile \(percent)") { $0[($0.count - 1) * percent / 100] } }
        row("mean") { $0.reduce(0, +) / Double($0.count) }
    }
}
