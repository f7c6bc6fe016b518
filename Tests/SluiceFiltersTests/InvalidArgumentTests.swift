import Sluice
import SluiceFilters
import TestSupport
import Testing

@Suite("Invalid arguments of filters") struct InvalidArgumentTests {
    private static func limits(_ limit: Int) -> [Limits] {
        var names = Limits()
        names.distinctEventNames = .dropEvent(over: limit)
        return [
            Limits(eventName: .cut(to: limit)), Limits(eventName: .setAside(over: limit)), Limits(names),
            Limits(propertyName: .cut(to: limit)),
        ]
    }

    private static let short: [Duration] = [.zero, .seconds(-1), .microseconds(999)]

    static let wrong: [[any Processor]] = [
        limits(0), limits(-1), limits(.min), [-1, .min].map { Limits(properties: .cut(to: $0)) },
        [-1, .min].map { Limits(string: .cut(to: $0)) },
        [0, -1].map { Consent(persistedIn: .memory, whilePending: .hold, holdingUpTo: $0) },
        [-0.1, 1.1, .nan, .infinity].map { Sampling(rate: $0) }, short.prefix(2).map { Deduplication(within: $0) },
        short.map { RateLimit(1, per: $0) }, [0, -1, .min].map { RateLimit($0, per: .seconds(1)) },
    ]

    @Test("an invalid argument is an error when the pipeline is built", arguments: wrong.indices)
    func invalidArgumentsThrow(index: Int) {
        for filter in Self.wrong[index] {
            let error = #expect(throws: SluiceError.self) { try TestPipeline { filter } }
            #expect(error?.code == .invalidArgument, "\(filter)")
        }
    }

    @Test("the smallest arguments are accepted")
    func smallestArgumentsAreAccepted() throws {
        _ = try TestPipeline {
            Deduplication(within: .nanoseconds(1))
            RateLimit(1, per: .milliseconds(1))
            Limits(eventName: .cut(to: 1), properties: .cut(to: 0), string: .cut(to: 0))
        }
    }
}
