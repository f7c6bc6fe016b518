import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// Pipelines that can't be built: the error that is thrown and the stages that are closed.
@Suite struct BuildTests {
    struct Only: Processor {
        static var isUnique: Bool { true }
        func process(_ event: inout Event) -> Disposition { .keep }
    }

    /// Throws or not, and counts the calls.
    final class Picky: Processor {
        let error: SluiceError?
        let context = PluginContext()
        let preparations = Locked(0)

        init(_ error: SluiceError? = nil) { self.error = error }

        func prepare() throws {
            preparations.withLock { $0 += 1 }
            if let error { throw error }
        }

        func process(_ event: inout Event) -> Disposition { .keep }
    }

    struct Unusable: Transport {
        func open(_ observer: TransportObserver, in environment: PipelineEnvironment) throws(SluiceError) {
            throw BuildTests.unavailable
        }
        func send(_ batch: Batch) async throws -> Verdicts { .all(.accepted) }
    }

    static let unavailable = SluiceError(.storageUnavailable, "no such place")

    /// The error that the initializer throws.
    func failure(_ build: () throws -> Pipeline) -> SluiceError.Code? {
        do {
            _ = try build()
        } catch {
            return (error as? SluiceError)?.code
        }
        Issue.record("the pipeline was built")
        return nil
    }

    // MARK: Listed twice

    @Test("two processors of a unique type are refused on the way of an event, two of another type are not")
    func uniqueTypeTwiceIsRefused() throws {
        #expect(failure { try Pipeline.with(Only(), Only()) } == .invalidPipeline)
        _ = try Pipeline {
            Keep()
            Keep()
            for name in ["one", "two"] {
                Route(name, Only())
            }
        }
    }

    @Test("a pipeline needs a route, and each route a unique name and its own store")
    func routesNeedNamesAndOwnStores() {
        let store = MemoryStore()
        func pipeline(_ names: [String], sharing store: MemoryStore? = nil) throws -> Pipeline {
            try Pipeline {
                for name in names {
                    Route(name, in: store ?? MemoryStore())
                }
            }
        }
        func code(routes names: [String], sharing store: MemoryStore? = nil) -> SluiceError.Code? {
            failure { try pipeline(names, sharing: store) }
        }
        #expect(code(routes: []) == .invalidPipeline)
        for name in [
            "", " ", "a\n", "\u{A0}\u{200B}", "a\u{0}b", "\u{85}a", "\u{3164}", "a\u{2028}b", "\u{202E}x", "a\u{FEFF}",
            " a",
        ] { #expect(code(routes: [name]) == .invalidPipeline, "\(name.debugDescription)") }
        #expect(code(routes: ["one", "one"]) == .invalidPipeline)
        #expect(code(routes: ["one", "two"], sharing: store) == .invalidPipeline)
        #expect(throws: Never.self) { try pipeline(["my route", "\u{4E8B} a"]) }
        // None of these has opened the store.
        #expect(throws: Never.self) { try Pipeline.with(in: store) }
    }

    // MARK: Failures while opening

    @Test("an event limit that no event can meet is refused", arguments: [0, -1, .min])
    func impossibleEventLimitIsRefused(limit: Int) {
        #expect(failure { try Pipeline.with(maximumEventBytes: limit) } == .invalidArgument)
    }

    @Test("open stores are closed if another store or its transport doesn't open", arguments: [true, false])
    func failedOpenClosesOpenStores(isStore: Bool) {
        let stores = [WatchedStore(), WatchedStore(openError: isStore ? Self.unavailable : nil), WatchedStore()]
        let transports: [any Transport] = [NullTransport(), isStore ? NullTransport() : Unusable(), NullTransport()]
        let picky = Picky()
        let code = failure {
            try Pipeline {
                picky
                for index in stores.indices {
                    Route("route \(index)", in: stores[index], to: transports[index])
                }
            }
        }
        #expect(code == .storageUnavailable)
        #expect(stores.map(\.isClosed) == [true, false, false])
        #expect(stores.allSatisfy { $0.offences.isEmpty })
        // Plugins are prepared after the stores, so this one never saw the pipeline.
        #expect(picky.preparations.withLock(\.self) == 0)
    }

    @Test("an error of a plugin closes all stores, names the plugin, and disconnects the contexts")
    func pluginErrorClosesAll() {
        let store = WatchedStore()
        let first = Picky()
        let second = Picky(SluiceError(.missingLibrary, "not here"))
        let transport = ScriptedTransport()
        let error = #expect(throws: SluiceError.self) { try Pipeline.with(first, second, in: store, to: transport) }
        #expect(error?.code == .missingLibrary)
        #expect(error?.message == "Picky: not here")
        #expect(store.isClosed)
        first.context.track("Nobody listens")
        #expect(store.backlog.isEmpty)
        #expect(store.offences.isEmpty)
        #expect(transport.batches.isEmpty)
    }

    @Test("an error of a plugin's own is the cause of one that names the plugin's type")
    func foreignErrorNamesPlugin() {
        struct Missing: Error {}
        struct Broken: Processor {
            func process(_ event: inout Event) -> Disposition { .keep }
            func prepare() throws { throw Missing() }
        }
        let error = #expect(throws: SluiceError.self) { try Pipeline.with(Broken(), in: WatchedStore()) }
        #expect(error?.code == .invalidPipeline)
        #expect(error?.message.hasPrefix("Broken ") == true)
        #expect(error?.cause is Missing)
    }

    @Test("a store is neither opened nor closed by a second pipeline, and can't be used again after its own one")
    func storeHasOnePipeline() async throws {
        let store = WatchedStore()
        func build() throws -> Pipeline { try Pipeline.with(in: store) }
        let first = try build()
        let inUse = #expect(throws: SluiceError.self) { try build() }
        #expect(inUse?.code == .invalidPipeline)
        #expect(inUse?.message.contains("in use by another") == true)
        #expect(store.isOpen)
        first.track("Event")
        #expect(await first.shutdown(timeout: .seconds(600)).routes[0].delivered == 1)
        let closed = #expect(throws: SluiceError.self) { try build() }
        #expect(closed?.code == .invalidPipeline)
        #expect(closed?.message.contains("create a new one") == true)
        #expect(store.offences.isEmpty)
    }
}
