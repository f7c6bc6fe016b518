import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

@Suite("Shutdown while a server hangs", .serialized)
struct HungShutdownTests {
    /// The beginning of the response, after which the server hangs.
    static let beginnings = ["", "HTTP/1.1 200 O", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12"]

    @Test("a shutdown ends by its deadline and loses nothing")
    func shutdownEndsByDeadline() async throws {
        let trials = Trials.count(full: 200, few: 10)
        var events = 0
        for trial in 0..<trials {
            var random = SeededRandom(seed: UInt64(trial))
            let count = Int.random(in: 1...120, using: &random)
            let beginning = Self.beginnings.randomElement(using: &random) ?? ""
            let deadline = Duration.milliseconds(Int.random(in: 0...10_000, using: &random))
            let arrived = Arrivals<Int>()
            let server = try Server { connection in
                let request = try connection.readRequest()
                try connection.write(beginning)
                arrived.add(request?.body.count ?? 0)
                try connection.waitForClose()
            }
            let directory = TemporaryDirectory()
            let subject = try HostilePipeline(to: server.url, storingIn: directory.path)
            subject.track(0..<count)
            let flush = Task { await subject.pipeline.flush() }
            _ = try await arrived.next()

            let end = subject.time.continuousTime() + deadline
            let ended = Task { await subject.pipeline.shutdown(timeout: deadline) }
            if deadline > .zero {
                await subject.time.waitForSleeper(within: end...end)
                subject.time.advance(by: deadline * Double.random(in: 0..<0.9, using: &random))
                subject.time.advance(by: end - subject.time.continuousTime())
            }
            // The clock stops at the deadline: a shutdown that took longer would not return.
            let ledger = await ended.value
            #expect(ledger.isBalanced)
            #expect(ledger.routes[0].waiting == count)
            _ = await flush.value

            let good = try TrialServer()
            let second = try HostilePipeline(to: good.url, storingIn: directory.path)
            await second.drain()
            #expect(await second.pipeline.shutdown().isBalanced)
            #expect(good.all.confirmed == Array(0..<count))
            events += count
        }
        Trials.report("hostile, shutdown: \(trials) trials with \(events) events, none lost and none late")
    }
}
