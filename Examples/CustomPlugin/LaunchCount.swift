import Sluice

/// Adds the number of launches to every event.
final class LaunchCount: Processor {
    struct Count: PersistedValue {
        var launches = 0

        init() {}

        init?(_ object: Properties) {
            guard case .int(let launches) = object["launches"] else { return nil }
            self.launches = Int(launches)
        }

        var object: Properties { ["launches": .int(launches)] }

        mutating func merge(stored: Count) { launches += stored.launches }
    }

    let context = PluginContext()
    private let state: PersistedState<Count>

    init(persistedIn persistence: Persistence) {
        state = PersistedState("launch-count", in: persistence, initial: Count(), report: context.report)
    }

    func prepare() throws {
        try state.load()
        state.update { $0.launches += 1 }
    }

    func process(_ event: inout Event) -> Disposition {
        event.properties["launches"] = .int(state.read(\.launches))
        return .keep
    }

    func finish() async { await state.finish() }
}
