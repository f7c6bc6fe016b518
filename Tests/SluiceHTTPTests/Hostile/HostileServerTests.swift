import Sluice
import SluiceTesting
import Testing

@testable import SluiceHTTP

@Suite("A hostile server before a whole pipeline", .timeLimit(.minutes(30)))
struct HostileServerTests {
    private struct Figures {
        var events = 0
        var again = 0
    }

    /// One life of a pipeline before a hostile server, and one before a good one.
    ///
    /// The second life has a server of its own, so that each of the two can be known to have seen what it should.
    private func trial(_ attack: Attack, _ number: Int, _ figures: inout Figures) async throws {
        var random = SeededRandom(seed: UInt64(number))
        let folder = try TemporaryFolder()
        let count = Int.random(in: 1...30, using: &random)
        let isHostile = Locked(attack.moment != .reuse)
        let stored = Locked<[Int]>([])
        let strangers = try Server(answering: HTTPAnswer.ok)
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
                    try connection.write(HTTPAnswer.ok)
                }
                isUsed = true
            }
        }
        url.withLock { $0 = server.url }

        let first = try HostilePipeline(
            to: server.url, storingIn: folder.path, format: attack.format,
            deadlines: attack.isTimed ? .short : HTTPDeadlines())
        if attack.moment == .reuse {
            first.track(0..<1)
            await first.drain()
            isHostile.withLock { $0 = true }
        }
        let known = first.ledger.delivered
        first.track(known..<known + count)
        await first.pipeline.flush()
        let fate = try await self.fate(first)
        #expect(attack.fates.contains(fate), "\(attack.testDescription), trial \(number)")
        let waiting = fate == .delivered ? 0 : count
        let ledger = await first.pipeline.shutdown(deadline: .zero)
        #expect(ledger.isBalanced)
        #expect(ledger.routes[0].waiting == waiting)
        #expect(ledger.routes[0].rejected == 0)
        #expect(ledger.routes[0].dropped.isEmpty)
        #expect(strangers.received.all.isEmpty)

        let good = try TrialServer()
        let second = try HostilePipeline(to: good.url, storingIn: folder.path)
        await second.drain()
        #expect(await second.pipeline.shutdown(deadline: .zero).isBalanced)
        // Nothing lost; and nothing again that was known to have arrived.
        #expect(good.all.read == Array(known + count - waiting..<known + count))
        let before = stored.withLock { $0 }
        #expect(attack.mayStore || before.isEmpty)
        if fate == .delivered { #expect(Set(before) == Set(0..<known + count)) }
        figures.events += known + count
        figures.again += before.count + good.all.read.count - Set(before + good.all.read).count
    }

    /// What the route has made of the answer, by its ledger, its diagnostics and the time for which it sleeps.
    private func fate(_ subject: HostilePipeline) async throws -> Attack.Fate {
        if subject.ledger.waiting == 0 {
            #expect(subject.diagnostics.isEmpty)
            return .delivered
        }
        await subject.time.waitForSleeper()
        let until = try #require(subject.time.deadlines.first)
        switch subject.diagnostics.last {
        case .retrying: return .retried(after: Int(until / .milliseconds(1)))
        case .held:
            // A probe after half of 300 s, and half of the other half.
            #expect(until == .seconds(225))
            return .held
        case let kind: throw SluiceError(.invalidArgument, "nothing is said of a failure: \(String(describing: kind))")
        }
    }

    @Test("nothing is lost, and the answer is read as it should be", arguments: Attack.all)
    func attacks(attack: Attack) async throws {
        var figures = Figures()
        let trials = Trials.count(full: 50, few: 1)
        for number in 0..<trials { try await trial(attack, number, &figures) }
        Trials.report(
            "hostile, \(attack.testDescription): \(trials) trials, \(figures.events) events, \(figures.again) again")
    }

    @Test("the same for every status from 200 to 599")
    func statuses() async throws {
        var figures = Figures()
        let trials = Trials.count(full: 50, few: 1)
        for attack in Attack.statuses {
            for number in 0..<trials { try await trial(attack, number, &figures) }
        }
        Trials.report("hostile, every status: \(trials) trials each, \(figures.events) events, \(figures.again) again")
    }
}
