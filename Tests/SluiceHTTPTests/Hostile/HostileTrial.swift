import HTTPTestSupport
import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceHTTP

/// Runs pipelines with a hostile server, and counts the events.
struct HostileTrial {
    var events = 0
    var again = 0

    /// Runs a pipeline with a hostile server, and then a second one on the same store with a good server.
    mutating func run(_ attack: Attack, _ number: Int) async throws {
        var random = SeededRandom(seed: UInt64(number))
        let directory = TemporaryDirectory()
        // Each second request of several, over a new connection, would succeed, and the others hang.
        let count = attack.moment == .reuse && attack.isTimed ? 1 : Int.random(in: 1...30, using: &random)
        let isHostile = Locked(attack.moment != .reuse)
        let stored = Locked<[Int]>([])
        let strangers = try Server(responding: HTTPResponse.ok)
        let url = Locked("")
        let server = try Server { connection in
            let surroundings = Server.Surroundings(own: url.withLock { $0 }, other: strangers.url)
            if attack.moment == .connection { return try attack.act(connection, surroundings) }
            var isUsed = false
            while let request = try connection.readRequest() {
                let numbers = try TrialServer.numbers(in: request.body)
                stored.withLock { $0 += numbers }
                if isHostile.withLock({ $0 }), attack.moment != .reuse || isUsed {
                    try attack.act(connection, surroundings)
                } else {
                    try connection.write(HTTPResponse.ok)
                }
                isUsed = true
            }
        }
        url.withLock { $0 = server.url }

        let first = try HostilePipeline(
            to: server.url, storingIn: directory.path, format: attack.format,
            timeouts: timeouts(for: attack))
        if attack.moment == .reuse {
            first.track(0..<1)
            await first.drain()
            isHostile.withLock { $0 = true }
        }
        let known = first.ledger.delivered
        first.track(known..<known + count)
        await first.pipeline.flush()
        let fate = try await self.fate(first, of: attack)
        #expect(attack.fates.contains(fate), "\(attack.testDescription), trial \(number)")
        let ledger = await first.pipeline.shutdown(timeout: .zero)
        let waiting = ledger.routes[0].waiting
        #expect(ledger.isBalanced)
        #expect(waiting == (fate == .delivered ? 0 : count))
        #expect(ledger.routes[0].rejected == 0)
        #expect(ledger.routes[0].dropped.isEmpty)
        #expect(strangers.received.all.isEmpty)

        let good = try TrialServer()
        let second = try HostilePipeline(to: good.url, storingIn: directory.path)
        await second.drain()
        #expect(await second.pipeline.shutdown(timeout: .zero).isBalanced)
        // No event is lost, and no event is sent again if its delivery was confirmed.
        #expect(good.all.read == Array(known + count - waiting..<known + count))
        let before = stored.withLock { $0 }
        #expect(attack.mayStore || before.isEmpty)
        if fate == .delivered { #expect(Set(before) == Set(0..<known + count)) }
        events += known + count
        again += before.count + good.all.read.count - Set(before + good.all.read).count
    }

    private func timeouts(for attack: Attack) -> HTTPTimeouts {
        guard attack.isTimed else { return HTTPTimeouts() }
        // The good request before the attack must not time out on a slow machine.
        return attack.moment == .reuse ? HTTPTimeouts(connect: .seconds(3), total: .seconds(3)) : .short
    }

    /// The result by the ledger, the diagnostics and the time until the next attempt.
    private func fate(_ subject: HostilePipeline, of attack: Attack) async throws -> Attack.Fate {
        if subject.ledger.waiting == 0 {
            #expect(subject.diagnostics.isEmpty)
            return .delivered
        }
        await subject.time.waitForSleeper(within: ..<HostilePipeline.interval)
        let until = try #require(subject.time.deadlines.first)
        switch subject.diagnostics.last {
        case .retrying: return .retried(after: Int(until / .milliseconds(1)))
        case .paused: return .held
        case let kind: throw SluiceError(.invalidArgument, "unexpected diagnostic: \(String(describing: kind))")
        }
    }
}
