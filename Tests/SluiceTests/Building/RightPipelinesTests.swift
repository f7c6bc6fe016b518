import Sluice
import SluiceMemory
import SluiceStdout
import Testing

/// Pipelines in every form that a host can write. They have to compile and to keep their order.
@Suite struct RightPipelinesTests {
    /// Appends its mark to the property `marks` of every event.
    struct Mark: Processor {
        let mark: String
        init(_ mark: String) { self.mark = mark }

        func process(_ event: inout Event) -> Disposition {
            var marks = ""
            if case .string(let before) = event.properties["marks"] { marks = before }
            event.properties["marks"] = .string(marks + mark)
            return .keep
        }
    }

    /// The marks of one event in `store` after it has passed the pipeline.
    func marks(of pipeline: Pipeline, in store: MemoryStore) throws -> [PropertyValue?] {
        pipeline.pauseDelivery()
        pipeline.track("Event")
        let batch = try #require(try store.nextBatch(BatchSize(events: 10, bytes: .max)))
        return try batch.events.map { try $0.event().properties["marks"] }
    }

    enum Environment: CaseIterable { case development, test, production }

    @PipelineBuilder func common(_ flag: Bool) -> ProcessorFragment {
        Mark("1")
        if flag { Mark("2") }
    }

    @PipelineBuilder func kept(in store: MemoryStore) -> StoreAndTransportFragment {
        Mark("k")
        store
        StdoutTransport()
    }

    @PipelineBuilder func sent() -> TransportFragment {
        StdoutTransport()
    }

    func failing(_ store: MemoryStore) throws -> MemoryStore { store }

    @Test("if and else choose stores and transports", arguments: [true, false])
    func ifAndElseChooseStoresAndTransports(flag: Bool) throws {
        let stores = [MemoryStore(), MemoryStore()]
        let pipeline = try Pipeline {
            Mark("a")
            if flag { Mark("b") } else { Mark("c") }
            if flag { stores[0] } else { stores[1] }
            if flag { StdoutTransport() } else { NullTransport() }
        }
        #expect(try marks(of: pipeline, in: stores[flag ? 0 : 1]) == [flag ? "ab" : "ac"])
    }

    @Test("if and else choose the whole end of a pipeline", arguments: [true, false])
    func ifAndElseChooseTheWholeEnd(flag: Bool) throws {
        let store = MemoryStore()
        let pipeline = try Pipeline {
            Mark("a")
            if flag {
                Mark("b")
                store
                StdoutTransport()
            } else {
                store
                NullTransport()
            }
        }
        #expect(try marks(of: pipeline, in: store) == [flag ? "ab" : "a"])
    }

    @Test("switch chooses stages", arguments: Environment.allCases)
    func switchChoosesStages(environment: Environment) throws {
        let store = MemoryStore()
        let pipeline = try Pipeline {
            switch environment {
            case .development: Mark("d")
            case .test: Mark("t")
            case .production:
                Mark("p")
                Mark("q")
            }
            switch environment {
            case .development, .test:
                store
                StdoutTransport()
            case .production:
                store
                NullTransport()
            }
        }
        let expected: [Environment: PropertyValue] = [.development: "d", .test: "t", .production: "pq"]
        #expect(try marks(of: pipeline, in: store) == [expected[environment]])
    }

    @Test("for repeats processors in order")
    func forRepeatsProcessorsInOrder() throws {
        let store = MemoryStore()
        let pipeline = try Pipeline {
            for mark in ["x", "y", "z"] { Mark(mark) }
            Mark("!")
            store
            NullTransport()
        }
        #expect(try marks(of: pipeline, in: store) == ["xyz!"])
    }

    @Test("conditional compilation and availability checks work")
    func conditionalCompilationAndAvailabilityWork() throws {
        let store = MemoryStore()
        let pipeline = try Pipeline {
            #if os(Windows)
                Mark("w")
            #else
                Mark("n")
            #endif
            if #available(macOS 14, iOS 17, *) { Mark("new") }
            store
            NullTransport()
        }
        #expect(try marks(of: pipeline, in: store) == ["nnew"])
    }

    @Test("try in the block passes its error on")
    func tryPassesErrorsOn() throws {
        let store = MemoryStore()
        let pipeline = try Pipeline {
            Mark("a")
            try failing(store)
            NullTransport()
        }
        #expect(try marks(of: pipeline, in: store) == ["a"])

        struct Refused: Error {}
        func refuse() throws -> MemoryStore { throw Refused() }
        #expect(throws: Refused.self) {
            try Pipeline {
                try refuse()
                NullTransport()
            }
        }
    }

    @Test("a host's own functions return fragments", arguments: [true, false])
    func hostFunctionsReturnFragments(flag: Bool) throws {
        let store = MemoryStore()
        let pipeline = try Pipeline {
            common(flag)
            Mark("3")
            kept(in: store)
        }
        #expect(try marks(of: pipeline, in: store) == [flag ? "123k" : "13k"])

        let other = MemoryStore()
        let second = try Pipeline {
            common(flag)
            other
            sent()
        }
        #expect(try marks(of: second, in: other) == [flag ? "12" : "1"])
    }

    @Test("existentials are stages too")
    func existentialsAreStages() throws {
        let store = MemoryStore()
        let processors: [any Processor] = [Mark("a"), Mark("b")]
        let kept: any Store = store
        let transport: any Transport = NullTransport()
        let pipeline = try Pipeline {
            for processor in processors { processor }
            kept
            transport
        }
        #expect(try marks(of: pipeline, in: store) == ["ab"])
    }

    @Test("an optional processor is a stage, or is left out", arguments: [true, false])
    func optionalProcessorIsStageOrLeftOut(flag: Bool) throws {
        let store = MemoryStore()
        let concrete: Mark? = flag ? Mark("a") : nil
        let existential: (any Processor)? = flag ? Mark("b") : nil
        let pipeline = try Pipeline {
            concrete
            existential
            flag ? Mark("c") : nil
            Mark("d")
            store
            NullTransport()
        }
        #expect(try marks(of: pipeline, in: store) == [flag ? "abcd" : "d"])
    }

    @Test("arrays are stages, in the order of their elements")
    func arraysAreStages() throws {
        let store = MemoryStore()
        let existentials: [any Processor] = [Mark("a"), Transform { $0.name = "Renamed" }]
        let none: [any Processor] = []
        let concrete = ["b", "c"].map { Mark($0) }
        let pipeline = try Pipeline {
            existentials
            none
            concrete
            [Mark("d"), Mark("e")]
            store
            NullTransport()
        }
        #expect(try marks(of: pipeline, in: store) == ["abcde"])
    }

    @Test("optionals and arrays stand in fragments, in routes and after other lines")
    func optionalsAndArraysStandEverywhere() throws {
        @PipelineBuilder func stages(_ last: Mark?) -> ProcessorFragment {
            [Mark("1"), Mark("2")]
            last
        }
        let store = MemoryStore()
        let pipeline = try Pipeline {
            Mark("a")
            stages(Mark("3"))
            Route("only") {
                [Mark("r")]
                Mark?.none
                store
                NullTransport()
            }
        }
        #expect(try marks(of: pipeline, in: store) == ["a123r"])
    }

    @Test("routes beside each other have processors of their own", arguments: [true, false])
    func routesHaveOwnProcessors(
        flag: Bool
    ) throws {
        let stores = [MemoryStore(), MemoryStore(), MemoryStore()]
        let pipeline = try Pipeline {
            Mark("a")
            Route("first") {
                Mark("1")
                stores[0]
                NullTransport()
            }
            Route("second", delivery: DeliveryPolicy(flushCount: 1_000)) {
                stores[1]
                NullTransport()
            }
            if flag {
                Route("third") {
                    Mark("3")
                    Mark("4")
                    stores[2]
                    NullTransport()
                }
            }
        }
        #expect(try marks(of: pipeline, in: stores[0]) == ["a1"])
        let second = try #require(try stores[1].nextBatch(BatchSize(events: 9, bytes: .max)))
        #expect(try second.events.map { try $0.event().properties["marks"] } == ["a"])
        #expect(pipeline.ledger.routes.map(\.name) == (flag ? ["first", "second", "third"] : ["first", "second"]))
        if flag {
            let third = try #require(try stores[2].nextBatch(BatchSize(events: 9, bytes: .max)))
            #expect(try third.events.map { try $0.event().properties["marks"] } == ["a34"])
        }
    }

    @Test("a host stores the pipeline in a property")
    func hostStoresPipelineInProperty() throws {
        final class Host {
            let pipeline: Pipeline
            init() throws {
                pipeline = try Pipeline {
                    MemoryStore()
                    NullTransport()
                }
            }
        }
        let host = try Host()
        host.pipeline.track("Event")
        #expect(host.pipeline.ledger.tracked == 1)
    }
}
