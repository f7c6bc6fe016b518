import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// One object, one place: a processor object stands in one chain of one living pipeline.
@Suite struct ProcessorPlacesTests {
    /// Builds a pipeline with these processors above its routes, and in each of them.
    private func build(
        _ shared: [any Processor], routes: [[any Processor]] = [[]], openError: SluiceError? = nil
    ) throws -> Pipeline {
        try Pipeline {
            for processor in shared { processor }
            for (index, processors) in routes.enumerated() {
                Route("\(index)") {
                    for processor in processors { processor }
                    WatchedStore(openError: openError)
                    ScriptedTransport()
                }
            }
        }
    }

    /// The message of the error for an invalid pipeline.
    private func refusal(_ build: () throws -> Pipeline) -> String {
        do {
            _ = try build()
        } catch let error as SluiceError where error.code == .invalidPipeline {
            return error.message
        } catch {
            return "another error: \(error)"
        }
        return "none"
    }

    @Test("an object that is listed twice is refused, and the error says what to do")
    func objectTwiceIsRefused() {
        let plugin = Plugin()
        let refusals = [
            refusal { try build([plugin, plugin]) },
            refusal { try build([plugin], routes: [[plugin]]) },
            refusal { try build([], routes: [[plugin, plugin]]) },
            refusal { try build([], routes: [[plugin], [plugin]]) },
        ]
        for refusal in refusals {
            #expect(refusal.hasPrefix("one Plugin is listed twice: list it once, above the routes, or make one object"))
        }
    }

    /// Such as `Limits`: its copies share a context.
    private struct Value: Processor {
        let context = PluginContext()
        var text = ""

        func process(_ event: inout Event) -> Disposition { .keep }
    }

    @Test("a value with a context is refused at a second place, also a changed copy")
    func valueTwiceIsRefused() throws {
        let value = Value()
        var copy = value
        copy.text = "changed"
        for places in [[[value], [copy]], [[value, value]]] {
            #expect(refusal { try build([], routes: places) }.hasPrefix("one Value is listed twice"))
        }
        _ = try build([value, Value()])
    }

    private struct NewContexts: Processor {
        var context: PluginContext { PluginContext() }

        func process(_ event: inout Event) -> Disposition { .keep }
    }

    @Test("a value without a stored context may have several places")
    func valueWithoutContextMayHaveSeveralPlaces() throws {
        _ = try build([NewContexts(), NewContexts()], routes: [[Keep()], [Keep()]])
    }

    @Test("an object in another living pipeline is refused, and stays where it is")
    func objectInTwoPipelinesIsRefused() throws {
        let plugin = Plugin()
        let first = try build([plugin])
        for _ in 0..<2 {
            #expect(refusal { try build([], routes: [[plugin]]) }.hasPrefix("one Plugin stands in another pipeline"))
        }
        plugin.context.track("Own")
        #expect(first.ledger.tracked == 1)
    }

    @Test("a refused pipeline occupies no place")
    func refusedPipelineOccupiesNothing() throws {
        let (taken, free) = (Plugin(), Plugin())
        let first = try build([taken])
        #expect(refusal { try build([free, taken]) }.hasPrefix("one Plugin stands in another pipeline"))
        let second = try build([free])
        withExtendedLifetime((first, second)) {}
    }

    @Test("after a shutdown, an object can stand in a new pipeline, which gets its events")
    func shutdownFreesPlaces() async throws {
        let plugin = Plugin()
        let first = try build([plugin])
        await first.shutdown(timeout: .zero)
        let second = try build([], routes: [[], [plugin]])
        plugin.context.track("Own")
        #expect(first.ledger.tracked == 0)
        #expect(second.ledger.routes.map(\.inserted) == [0, 1])
        // A second shutdown of the first pipeline doesn't free the place in the second one.
        await first.shutdown(timeout: .zero)
        #expect(refusal { try build([plugin]) }.hasPrefix("one Plugin stands in another pipeline"))
    }

    @Test("after its pipeline was released, an object can stand in a new one")
    func releaseFreesPlaces() throws {
        let plugin = Plugin()
        for _ in 0..<100 { _ = try build([plugin]) }
        let last = try build([plugin])
        plugin.context.track("Own")
        #expect(last.ledger.tracked == 1)
    }

    @Test("a pipeline that could not be opened frees its places")
    func failedOpenFreesPlaces() throws {
        let plugin = Plugin()
        let error = SluiceError(.inputOutput, "the disk is gone")
        #expect(throws: SluiceError.self) { try build([plugin], openError: error) }
        _ = try build([plugin])
    }

    @Test("of several pipelines that are built at the same time, one gets an object")
    func oneOfManyGetsObject() async throws {
        for _ in 0..<50 {
            let plugin = Plugin()
            let built = await withTaskGroup(of: Pipeline?.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        do { return try build([], routes: [[], [plugin]]) } catch { return nil }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(built.compactMap(\.self).count == 1)
        }
    }
}
