import AsyncHTTPClient
import Foundation
import Hummingbird
import Logging
import NIOHTTP1
import Sluice
import SluiceIdentity
import SluiceJSONL

/// What tracking adds to the latency of the shop's page.
///
/// Two shops on loopback are the same, but only one tracks its requests, into a `JSONLStore`. Single requests go to one after
/// the other, in alternating order, so that both see the same machine.
enum Load {
    private static let warmUp = 500

    /// Sends the requests and prints the latencies.
    ///
    /// - Returns: Whether every event was delivered.
    static func run(_ count: Int) async throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-load-\(UUID().uuidString)")
        defer { do { try FileManager.default.removeItem(at: folder) } catch { print("# \(error)") } }
        let pipeline = try Pipeline {
            UserScope()
            JSONLStore(at: folder.path)
            NullTransport()
        }
        let latencies = try await withThrowingTaskGroup(of: Void.self) { group in
            let urls = AsyncStream<(isTracked: Bool, url: String)>.makeStream()
            for isTracked in [false, true] {
                let shop = shop(trackedBy: isTracked ? pipeline : nil) { urls.continuation.yield((isTracked, $0)) }
                group.addTask { try await shop.run() }
            }
            var shops: [Bool: String] = [:]
            for await (isTracked, url) in urls.stream {
                shops[isTracked] = url
                if shops.count == 2 { break }
            }
            defer { group.cancelAll() }
            return try await measure(shops, count)
        }
        let ledger = await pipeline.shutdown()
        report(latencies)
        print("requests \(count + warmUp), events \(ledger.tracked), delivered \(ledger.routes[0].delivered)")
        return ledger.isBalanced && ledger.routes[0].delivered == count + warmUp
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

    /// Returns the latencies of both shops in microseconds, ascending, without those of the first requests.
    private static func measure(_ shops: [Bool: String], _ count: Int) async throws -> [Bool: [Double]] {
        var latencies: [Bool: [Double]] = [:]
        for number in 0..<(warmUp + count) {
            for isTracked in number.isMultiple(of: 2) ? [false, true] : [true, false] {
                var request = HTTPClientRequest(url: shops[isTracked] ?? "")
                request.headers = ["Cookie": "visitor=visitor-\(number % 100)"]
                let start = ContinuousClock.now
                let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
                _ = try await response.body.collect(upTo: 1_000_000)
                if number >= warmUp {
                    latencies[isTracked, default: []].append((ContinuousClock.now - start) / .microseconds(1))
                }
            }
        }
        return latencies.mapValues { $0.sorted() }
    }

    private static func report(_ latencies: [Bool: [Double]]) {
        guard let plain = latencies[false], let tracked = latencies[true] else { return }
        print("latency             without       with   ratio")
        func row(_ name: String, _ value: ([Double]) -> Double) {
            let (without, with) = (value(plain), value(tracked))
            print(name.padding(toLength: 16, withPad: " ", startingAt: 0), terminator: "")
            print(String(format: "%8.1f µs %8.1f µs %7.3f", without, with, with / without))
        }
        for percent in [50, 90, 99] { row("percentile \(percent)") { $0[($0.count - 1) * percent / 100] } }
        row("mean") { $0.reduce(0, +) / Double($0.count) }
    }
}
