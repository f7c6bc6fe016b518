import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

/// Counts in a state that another plugin has too.
final class StateCounter: Processor {
    let context = PluginContext()
    let state: PersistedState<StoredCount>

    init(_ state: PersistedState<StoredCount>) { self.state = state }

    func prepare() throws { try state.load() }

    func process(_ event: inout Event) -> Disposition {
        state.update { $0.number += 1 }
        return .keep
    }
}

/// What an object outside of a pipeline may not change, it doesn't change later either.
@Suite struct RefusedChangeTests {
    private let directory = TemporaryDirectory()

    /// A refused change of an object that stands in the next pipeline.
    enum Refused: CaseIterable { case grant, settings, update, save }

    @Test(
        "a refused change has no effect on the object, which takes the stored value when it is listed",
        arguments: Refused.allCases)
    func refusedChangeIsGone(refused: Refused) async throws {
        let place = Persistence.file(directory.path)
        /// The second object is refused while the first one stands in a pipeline, and has the first one's value in the next one.
        func check<Stage: Processor, Value: Equatable>(
            _ make: () -> Stage, refused: (Stage) -> Bool, own: (Stage) throws -> Void, value: (Stage) -> Value
        ) async throws {
            let (a, b) = (make(), make())
            let first = try Pipeline.with(a)
            let before = value(a)
            #expect(refused(b) && value(b) == before)
            try own(a)
            await first.shutdown(timeout: .zero)
            let second = try Pipeline.with(b)
            #expect(value(b) == value(a) && value(a) != before)
            await second.shutdown(timeout: .zero)
            #expect(value(make()) == value(a))
        }
        func isRefused(_ body: () throws -> Void) -> Bool {
            do { try body() } catch { return (error as? SluiceError)?.code == .invalidPipeline }
            return false
        }
        let reports = Locked(0)
        func counter() -> StateCounter {
            StateCounter(
                PersistedState("count", in: place, initial: StoredCount()) { _ in reports.withLock { $0 += 1 } })
        }
        switch refused {
        case .grant:
            try await check {
                Consent(persistedIn: place, whilePending: .keep)
            } refused: { consent in
                isRefused(consent.grant)
            } own: {
                try $0.deny()
            } value: {
                $0.status
            }
        case .settings:
            try await check {
                CollectionSettings(persistedIn: place)
            } refused: { settings in
                isRefused { try settings.setEnabled(true) }
            } own: {
                try $0.setEnabled(false)
            } value: {
                $0.isEnabled
            }
        case .update:
            try await check(counter) { counter in
                counter.state.update { count in
                    count.number += 5
                    return count.number
                } == 5 && reports.withLock(\.self) == 1
            } own: {
                $0.state.update { $0.number = 3 }
                _ = $0.state.saveOrReport { $0.number += 4 }
            } value: {
                $0.state.value.number
            }
        case .save:
            try await check(counter) { counter in
                isRefused { try counter.state.save { $0.number = 1 } } && !counter.state.saveOrReport { $0.number = 2 }
            } own: {
                try $0.state.save { $0.number = 9 }
            } value: {
                $0.state.value.number
            }
        }
    }

    enum IdentityPlace: CaseIterable { case file, custom, encrypted, backedUp }

    @Test("an identity outside of a pipeline is changed only if it can be shared", arguments: IdentityPlace.allCases)
    func identityIsRefused(kind: IdentityPlace) async throws {
        let bytes = Locked<[String: [UInt8]]>([:])
        let file = Persistence.file(directory.path)
        let place =
            switch kind {
            case .file: file
            case .custom:
                Persistence(
                    named: directory.path, read: { item in bytes.withLock { $0[item] } },
                    write: { item, new in bytes.withLock { $0[item] = new } })
            case .encrypted: file.encrypted(with: LineEncryption(encrypt: { $0 }, decrypt: { $0 }))
            case .backedUp: file.backedUp(by: .file("\(directory.path)/second"))
            }
        let (own, other) = (Identity(persistedIn: place), Identity(persistedIn: place))
        let earlier = Consent(persistedIn: .memory, whilePending: .keep)
        try earlier.grant()
        await (try Pipeline.with(earlier, other)).shutdown(timeout: .zero)
        let living = try Pipeline.with(own)
        try own.login("own")
        if kind == .file {
            try other.login("other")
        } else {
            let error = #expect(throws: SluiceError.self) { try other.login("other") }
            // A place of one's own isn't read again.
            #expect(error?.code == .invalidPipeline && other.loginID == (kind == .custom ? nil : "own"))
        }
        try own.bind("key", to: "value")
        #expect(throws: SluiceError.self, "removes the state of the pipeline") { try earlier.deny() }
        #expect(Identity(persistedIn: place).loginID == (kind == .file ? "other" : "own"))
        await living.shutdown(timeout: .zero)
        try earlier.deny()
    }

    @Test("a state object in two pipelines is refused with the reason", arguments: ["same", "link", "new"])
    func stateObjectStandsInOnePipeline(name: String) async throws {
        try SystemFileSystem().makeDirectory("\(directory.path)/same", mode: 0o700)
        symlink("same", "\(directory.path)/link")
        let state = PersistedState("count", in: .file("\(directory.path)/\(name)"), initial: StoredCount()) { _ in }
        func pipeline(_ state: PersistedState<StoredCount>) throws -> Pipeline {
            try Pipeline.with(StateCounter(state))
        }
        let first = try pipeline(state)
        let error = #expect(throws: SluiceError.self) { try pipeline(state) }
        #expect(error?.message.contains("one object keeps the state in") == true)
        // The directory exists by now. A refused claim ends no other one.
        first.track("Event")
        try state.save { $0.number += 1 }
        let other = PersistedState("count", in: .file("\(directory.path)/./\(name)"), initial: StoredCount()) { _ in }
        for _ in 0..<2 { #expect(throws: SluiceError.self) { try other.save { $0.number = 0 } } }
        #expect(throws: SluiceError.self) { try pipeline(other) }
        await first.shutdown(timeout: .zero)
        await (try pipeline(other)).shutdown(timeout: .zero)
        #expect(other.value.number == 2)
    }
}
