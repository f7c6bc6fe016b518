import Sluice
import SluiceJSONL
import SluiceTesting

/// One process from start to end: the real store and the real delivery loop, on the simulated disk and network.
final class Life {
    struct Settings {
        var durability: JSONLStore.Durability
        var capacity: Int
        var maximumAge: Duration
        var policy: DeliveryPolicy

        init(random: inout SeededRandom) {
            let levels: [JSONLStore.Durability] = [.buffered, .process, .process, .interval(milliseconds: 50), .full]
            durability = levels.randomElement(using: &random) ?? .process
            capacity = [2_000, 20_000, 200_000, 10_485_760].randomElement(using: &random) ?? 0
            maximumAge = .seconds(25 * 86_400)
            policy = DeliveryPolicy(
                batch: BatchSize(
                    events: [1, 5, 50].randomElement(using: &random) ?? 1,
                    bytes: [1_000, 262_144].randomElement(using: &random) ?? 1),
                flushCount: Int.random(in: 1...100, using: &random))
        }
    }

    /// The connection of this life to the server.
    private struct Connection: Transport {
        let server: SimulatedServer
        let process: SimulatedProcess
        let books: Books
        let life: Int
        let time: VirtualTime

        func send(_ batch: Batch) async throws -> Verdicts {
            try checkAlive()
            for line in batch.events { books.sent(line, by: life) }
            let verdicts: Verdicts
            do {
                verdicts = try await server.send(batch) { line in
                    // A process that has died while the server was slow has sent nothing.
                    try checkAlive()
                    return books.received(line, from: life, at: time.continuousTime())
                }
            } catch {
                books.answered(batch, .all(.retry()), to: life)
                throw error
            }
            books.deferredOrRefused(batch, verdicts)
            try checkAlive()
            books.answered(batch, verdicts, to: life)
            return verdicts
        }

        private func checkAlive() throws {
            if process.isDead { throw SluiceError(.inputOutput, "the process is dead") }
        }
    }

    let number: Int
    let settings: Settings
    let process: SimulatedProcess
    let plugin = RoutePlugin()
    private let store: ObservedStore
    private(set) var pipeline: Pipeline?
    var isPaused = false

    /// - Throws: what ``Pipeline`` throws when the store cannot be opened.
    init(
        _ number: Int, settings: Settings, process: SimulatedProcess, server: SimulatedServer, books: Books,
        time: VirtualTime, incoming: Locked<[EventLine]>, seed: UInt64
    ) throws {
        self.number = number
        self.settings = settings
        self.process = process
        var environment = PipelineEnvironment.virtual(time, seed: seed)
        environment.hasThreads = false
        let base = JSONLStore(
            at: "/data/events", durability: settings.durability, capacity: settings.capacity,
            maximumAge: settings.maximumAge, files: process)
        let store = ObservedStore(
            base, life: number, durability: settings.durability, process: process, books: books, time: time,
            incoming: incoming)
        self.store = store
        let plugin = plugin
        pipeline = try Pipeline(delivery: settings.policy, environment: environment) {
            Route("main") {
                plugin
                store
                Connection(server: server, process: process, books: books, life: number, time: time)
            }
            Route("other") {
                Bystander(life: number, books: books)
                RecordingStore()
                ScriptedTransport()
            }
        }
    }

    /// The number of waiting events according to the store.
    var stored: Int { store.backlog.events }

    private static let pad = [UInt8](repeating: UInt8(ascii: "x"), count: World.largestEvent)

    /// Tracks an event, before which the plugin inserts another one with the number `inserted`.
    func track(_ serial: Int, bytes: Int, priority: Event.Priority, inserting inserted: Int? = nil) {
        let pad = String(decoding: Life.pad.prefix(bytes), as: UTF8.self)
        var properties: Properties = ["n": .int(serial), "pad": .string(pad)]
        if let inserted { properties[RoutePlugin.inserted] = .int(inserted) }
        pipeline?.track("Event", properties, priority: priority)
    }

    /// Lets go of everything, as the end of a process does.
    func end() {
        pipeline = nil
    }
}
