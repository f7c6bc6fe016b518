import Sluice
import SluiceFilters
import SluiceHTTP
import SluiceIdentity
import SluiceLibC
import SluiceTesting
import TestSupport
import Testing

/// One place of state has one owner in a process, and one owner has one gate.
@Suite struct StateOwnerTests {
    private let directory = TemporaryDirectory()

    /// A change of a state in this place by an object outside of the pipeline, and whether the pipeline's object has it too.
    struct Change: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let change: @Sendable (Persistence) throws -> Void
        let hasChanged: @Sendable (Consent, CollectionSettings) -> Bool
    }

    static let changes = [
        Change(testDescription: "off") {
            try CollectionSettings(persistedIn: $0).setEnabled(false)
        } hasChanged: {
            !$1.isEnabled
        },
        Change(testDescription: "denial") {
            try Consent(persistedIn: $0).deny()
        } hasChanged: { consent, _ in
            consent.status == .denied
        },
        Change(testDescription: "denial by one that knows the answer") {
            let other = Consent(persistedIn: $0, whilePending: .keep)
            #expect(other.status == .granted, "reading is free")
            try other.deny()
        } hasChanged: { consent, _ in
            consent.status == .denied
        },
    ]

    @Test(
        "a state of a living pipeline is changed by its own object only, and by others before and after",
        arguments: changes,
        ["", "/./", "/link"])
    func stateHasOneWriter(change: Change, spelling: String) async throws {
        symlink(directory.path, "\(directory.path)/link")
        let place = Persistence.file(directory.path)
        let other = Persistence.file("\(directory.path)\(spelling)")
        let (consent, settings) = (Consent(persistedIn: place), CollectionSettings(persistedIn: place))
        func pipeline() throws -> Pipeline { try Pipeline.with(settings, consent, Identity(persistedIn: place)) }
        // The objects know an earlier state when they are listed.
        try consent.grant()
        try settings.setEnabled(true)
        try change.change(other)
        #expect(!change.hasChanged(consent, settings))
        let first = try pipeline()
        #expect(change.hasChanged(consent, settings))
        try consent.grant()
        try settings.setEnabled(true)
        let error = #expect(throws: SluiceError.self) { try change.change(other) }
        #expect(
            error?.code == .invalidPipeline
                && error?.message.contains("the object that stands in that pipeline") == true)
        #expect(!change.hasChanged(Consent(persistedIn: place), CollectionSettings(persistedIn: place)))
        first.track("Event")
        #expect(first.ledger.tracked == 1 && first.ledger.dropped.isEmpty && directory.names.contains("identity.json"))
        await first.shutdown(timeout: .zero)
        try change.change(other)
        let second = try pipeline()
        #expect(change.hasChanged(consent, settings))
        await second.shutdown(timeout: .zero)
    }

    @Test("one state object has one gate", arguments: [(true, false), (false, true), (true, true), (false, false)])
    func stateHasOneGate(first: Bool, second: Bool) async throws {
        let state = PersistedState("count", in: .file(directory.path), initial: StoredCount()) { _ in }
        func pipeline(_ consents: (Consent?, Consent?)) throws -> Pipeline {
            try Pipeline {
                Route("a", consents.0, StateCounter(state))
                Route("b", consents.1, StateCounter(state))
            }
        }
        let consents = (first ? Consent(persistedIn: .memory) : nil, second ? Consent(persistedIn: .memory) : nil)
        if first || second {
            let error = #expect(throws: SluiceError.self) { try pipeline(consents) }
            #expect(error?.code == .invalidPipeline && error?.message.contains("count.json") == true)
            #expect(directory.names.isEmpty)
        } else {
            await (try pipeline(consents)).shutdown(timeout: .seconds(600))
        }
    }

    @Test(
        "a link to a directory that is missing yet is recognized",
        arguments: ["new", "./a/../new", "/", "second", "gone/../new/", "new/b/.."])
    func linkToNothingIsRecognized(target: String) throws {
        symlink(target == "/" ? "\(directory.path)/new" : target, "\(directory.path)/link")
        symlink("third", "\(directory.path)/second")
        symlink("new", "\(directory.path)/third")
        symlink("circle", "\(directory.path)/circle")
        func pipeline(_ names: String...) throws -> Pipeline {
            try Pipeline {
                for name in names {
                    RecordingStore().route(name, Consent(persistedIn: .file("\(directory.path)/\(name)")))
                }
            }
        }
        for pair in [("link", "new"), ("new", "link"), ("link/a/../b", "new/b")] {
            let error = #expect(throws: SluiceError.self) { try pipeline("\(pair.0)", "./\(pair.1)") }
            #expect(
                error?.code == .invalidPipeline && error?.message.contains("keep their state in") == true, "\(pair)")
        }
        #expect(throws: SluiceError.self) { try pipeline("circle") }
    }

    @Test(
        "places are told apart as the file system does",
        arguments: [("caf\u{E9}", "cafe\u{301}"), ("\u{AC00}", "\u{1100}\u{1161}"), ("\u{212B}", "\u{C5}"), ("a", "a")])
    func spellingsAreTwoPlaces(first: String, second: String) throws {
        func custom(_ name: String) -> Persistence {
            Persistence(named: "\(directory.path) \(name)", read: { _ in nil }, write: { _, _ in })
        }
        func file(_ name: String) -> Persistence { .file("\(directory.path)/\(name)/p") }
        #if canImport(Darwin)
            let areOne = true
        #else
            let areOne = first.utf8.elementsEqual(second.utf8)
        #endif
        for places in [(custom(first), custom(second)), (file(first), file(second))] {
            func pipeline() throws {
                _ = try Pipeline {
                    RecordingStore().route("a", Consent(persistedIn: places.0))
                    RecordingStore().route("b", Consent(persistedIn: places.1))
                }
            }
            if areOne { #expect(throws: SluiceError.self) { try pipeline() } } else { try pipeline() }
        }
    }

    private func learning(in place: Persistence) -> HTTPTransport.Configuration {
        .init(clockCorrection: .learned(keptIn: place))
    }

    @Test("two transports that learn a clock need a place each")
    func learnedClockHasOneOwner() async throws {
        func pipeline(_ first: Persistence, _ second: Persistence) throws -> Pipeline {
            try Pipeline {
                for (name, place) in [("a", first), ("b", second)] {
                    Route(name, to: HTTPTransport(to: "https://\(name).example", configuration: learning(in: place)))
                }
            }
        }
        let place = Persistence.file(directory.path)
        let error = #expect(throws: SluiceError.self) { try pipeline(place, place) }
        #expect(error?.code == .invalidPipeline && error?.message.contains("clock.json") == true)
        let other = Persistence.file("\(directory.path)/b")
        for _ in 0..<2 {
            let first = try pipeline(place, other)
            #expect(throws: SluiceError.self) { try pipeline(other, .memory) }
            await first.shutdown(timeout: .seconds(600))
        }
        await (try pipeline(.memory, .memory)).shutdown(timeout: .seconds(600))
    }

    @Test("a transport that learns a clock and a plugin with the same item can't share a place")
    func itemHasOneOwner() throws {
        final class Clock: Processor {
            let context = PluginContext()
            let state: PersistedState<StoredCount>
            init(_ place: Persistence) { state = PersistedState("clock", in: place, initial: StoredCount()) { _ in } }
            func prepare() throws { try state.load() }
            func process(_ event: inout Event) -> Disposition { .keep }
        }
        let place = Persistence.file(directory.path)
        #expect(throws: SluiceError.self) {
            try Pipeline.with(
                Clock(place), to: HTTPTransport(to: "https://a.example", configuration: learning(in: place)))
        }
    }
}
