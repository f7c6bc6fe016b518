import Sluice
import SluiceAutoProperties
import SluiceFilters
import SluiceIdentity
import SluiceJSONL
import SluiceLifecycle
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite("Places of state")
struct PlaceTests {
    /// A place of the host without `remove`, which keeps an empty item instead.
    private final class Items: Sendable {
        let all = Locked<[String: [UInt8]]>([:])

        var place: Persistence {
            Persistence(
                named: "items", read: { [all] item in all.withLock { $0[item] } },
                write: { [all] item, bytes in all.withLock { $0[item] = bytes } })
        }
    }

    @Test(
        "a denial in a place without `remove` leaves nothing behind, and a later grant is a first one",
        arguments: [false, true])
    func emptyItemIsNothing(isEncrypted: Bool) async throws {
        let items = Items()
        let encryption = LineEncryption(encrypt: { $0.map { $0 ^ 0x55 } }, decrypt: { $0.map { $0 ^ 0x55 } })
        let place = isEncrypted ? items.place.encrypted(with: encryption) : items.place
        func launch(_ answer: (Consent) throws -> Void) async throws -> (events: [Event], reports: [Diagnostic]) {
            let consent = Consent(persistedIn: .memory)
            let (identity, auto) = (Identity(persistedIn: place), AutoProperties(persistedIn: place))
            let test = try TestPipeline {
                consent
                identity
                auto
                Links(persistedIn: place)
                Sessions(persistedIn: place)
                LifecycleEvents(persistedIn: place, appVersion: "1.0")
                Limits(.appCenter, persistedIn: place)
            }
            try consent.grant()
            for signal in [Signal.launched(.foreground), .didBecomeActive] { test.pipeline.signal(signal) }
            try identity.login("customer-42")
            auto.register(["plan": "pro"])
            try answer(consent)
            let events = await test.events()
            return (events, test.diagnostics)
        }
        #expect(try await launch { try $0.deny() }.events.contains { $0.name == "$AppInstall" })
        #expect(items.all.withLock { $0.values.allSatisfy(\.isEmpty) && !$0.isEmpty })
        let next = try await launch { _ in }
        #expect(next.reports.isEmpty)
        #expect(next.events.contains { $0.name == "$AppInstall" } && next.events.contains { $0.name == "$SignUp" })
        let last = try await launch { _ in }
        #expect(last.reports.isEmpty && !last.events.contains { $0.name == "$AppInstall" || $0.name == "$SignUp" })
    }
}
