import Sluice
import SluiceTesting
import Testing

@testable import Sluice
@testable import SluiceDelivery

/// Many clients that return to one server after an outage: real schedules in a simulation with steps of 100 ms.
struct Herd {
    struct Scenario: Sendable, CustomTestStringConvertible {
        var clients = 10_000
        /// Batches that wait in each client when the outage ends.
        let batches: Int
        /// Batches a second; the server refuses more immediately.
        let capacity: Int
        /// The Retry-After of a refusal.
        var retryAfter: Duration?

        var testDescription: String {
            "\(clients) clients with \(batches) batches each, \(capacity) a second, Retry-After "
                + (retryAfter.map { "\($0)" } ?? "none")
        }

        /// Seconds that a server needs if it is never idle.
        var ideal: Double { Double(clients * batches) / Double(capacity) }
    }

    struct Result {
        /// Seconds from the end of the outage to the last batch; nil if some never arrive.
        var drained: Double?
        /// Requests in each second after the outage.
        var demand: [Int] = []

        /// The most requests a second, as a mean of ten seconds.
        var peak: Double { means.max() ?? 0 }

        /// The last time at which the demand exceeded `capacity`, in seconds after the outage.
        func overloadEnd(_ capacity: Int) -> Double {
            Double((means.lastIndex { $0 > Double(capacity) } ?? -1) + 1) * 10
        }

        private var means: [Double] {
            stride(from: 0, to: demand.count, by: 10).map { start in
                Double(demand[start..<min(start + 10, demand.count)].reduce(0, +)) / 10
            }
        }
    }

    private struct Client {
        var rule = DeliveryRule(.standard)
        var batches: Int
        var taken: UInt64 = 0
    }

    private static let step = Duration.milliseconds(100)
    private static let outage = Duration.seconds(1_800)
    private static let horizon = Duration.seconds(20_000)

    private let scenario: Scenario
    private var random: SeededRandom
    private var clients: [Client]
    /// The clients that wake in each step.
    private var wakes: [[Int]]
    private var tokens: Double
    private var result = Result()

    init(_ scenario: Scenario, seed: UInt64) {
        self.scenario = scenario
        random = SeededRandom(seed: seed)
        clients = Array(repeating: Client(batches: scenario.batches), count: scenario.clients)
        wakes = Array(repeating: [], count: Int(Herd.horizon / Herd.step))
        tokens = Double(scenario.capacity)
        result.demand = Array(repeating: 0, count: Int((Herd.horizon - Herd.outage) / .seconds(1)))
    }

    mutating func run() -> Result {
        for number in clients.indices {
            let begin = .seconds(15) * Double.random(in: 0..<1, using: &random)
            wake(number, at: begin)
        }
        var waiting = clients.count
        var lastSecond = 0
        for index in wakes.indices where waiting > 0 {
            let now = Herd.step * index
            tokens = min(Double(scenario.capacity), tokens + Double(scenario.capacity) / 10)
            // No client is always the first.
            for number in wakes[index].shuffled(using: &random) {
                switch offer(number, at: now) {
                case .send(let part):
                    answer(number, part, now)
                    wake(number, at: now + Herd.step)
                case .wait(let until?): wake(number, at: until)
                case .wait(until: nil), .take: break
                }
                if clients[number].batches == 0 {
                    clients[number].batches = -1
                    waiting -= 1
                }
            }
            wakes[index] = []
            lastSecond = Int((now - Herd.outage) / .seconds(1))
            if waiting == 0 { result.drained = (now - Herd.outage) / .seconds(1) }
        }
        result.demand = Array(result.demand.prefix(max(0, lastSecond) + 1))
        return result
    }

    /// A batch is one event here: only the number of requests matters.
    private mutating func offer(_ number: Int, at now: Duration) -> DeliveryRule.Offer {
        while true {
            let open = clients[number].rule.waiting
            let offer = clients[number].rule.offer(
                takeable: max(0, clients[number].batches - open), at: now, random: { random.next() })
            guard case .take = offer else { return offer }
            clients[number].taken += 1
            let line = EventLine(bytes: [UInt8(truncatingIfNeeded: clients[number].taken)], priority: .normal)
            clients[number].rule.took(
                Batch(id: clients[number].taken, events: [line]), size: BatchSize(events: 1, bytes: .max))
        }
    }

    private mutating func answer(_ number: Int, _ part: Part, _ now: Duration) {
        var verdict = Verdict.retry()
        if now >= Herd.outage {
            result.demand[Int((now - Herd.outage) / .seconds(1))] += 1
            if tokens >= 1 {
                tokens -= 1
                clients[number].batches -= 1
                verdict = .accepted
            } else {
                verdict = .retry(after: scenario.retryAfter)
            }
        }
        let actions = clients[number].rule.apply(
            Answer(.all(verdict, status: 503), count: 1), to: part, at: now, random: { random.next() })
        clients[number].rule.settled(part, actions)
    }

    private mutating func wake(_ number: Int, at time: Duration) {
        let index = Int((time / Herd.step).rounded(.up))
        if wakes.indices.contains(index) { wakes[index].append(number) }
    }
}
