import Sluice
import SluiceStdout
import SluiceTesting
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
    func marks(of pipeline: Pipeline, in store: RecordingStore) -> [PropertyValue?] {
        pipeline.track("Event")
        return store.events.map { $0.properties["marks"] }
    }

    enum Environment: CaseIterable { case development, test, production }

    @PipelineBuilder func common(_ flag: Bool) -> ProcessorFragment {
        Mark("1")
        if flag { Mark("2") }
    }

    @PipelineBuilder func kept(in store: RecordingStore) -> StoreAndTransportFragment {
        Mark("k")
        store
        StdoutTransport()
    }

    @PipelineBuilder func sent() -> TransportFragment {
        StdoutTransport()
    }

    func failing(_ store: RecordingStore) throws -> RecordingStore { store }

    @Test("if and else choose stores and transports", arguments: [true, false])
    func ifAndElseChooseStoresAndTransports(flag: Bool) throws {
        let stores = [RecordingStore(), RecordingStore()]
        let pipeline = try Pipeline {
            Mark("a")
            if flag { Mark("b") } else { Mark("c") }
            if flag { stores[0] } else { stores[1] }
            if flag { StdoutTransport() } else { NullTransport() }
        }
        #expect(marks(of: pipeline, in: stores[flag ? 0 : 1]) == [flag ? "ab" : "ac"])
    }

    @Test("if and else choose the whole end of a pipeline", arguments: [true, false])
    func ifAndElseChooseTheWholeEnd(flag: Bool) throws {
        let store = RecordingStore()
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
        #expect(marks(of: pipeline, in: store) == [flag ? "ab" : "a"])
    }

    @Test("switch chooses stages", arguments: Environment.allCases)
    func switchChoosesStages(environment: Environment) throws {
        let store = RecordingStore()
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
        #expect(marks(of: pipeline, in: store) == [expected[environment]])
    }

    @Test("loops, arrays, optionals and existentials are stages, in the order of the lines", arguments: [true, false])
    func everyFormIsStage(flag: Bool) throws {
        let store = RecordingStore()
        let existentials: [any Processor] = [Mark("a"), Transform { $0.name = "Renamed" }]
        let none: [any Processor] = []
        let concrete = ["b", "c"].map { Mark($0) }
        let optional: Mark? = flag ? Mark("f") : nil
        let existential: (any Processor)? = flag ? Mark("g") : nil
        let (kept, transport): (any Store, any Transport) = (store, NullTransport())
        let pipeline = try Pipeline {
            for mark in ["x", "y"] { Mark(mark) }
            for processor in existentials { processor }
            existentials
            none
            concrete
            [Mark("d"), Mark("e")]
            optional
            existential
            flag ? Mark("h") : nil
            Mark("!")
            kept
            transport
        }
        #expect(marks(of: pipeline, in: store) == [flag ? "xyaabcdefgh!" : "xyaabcde!"])
    }

    @Test("conditional compilation and availability checks work")
    func conditionalCompilationAndAvailabilityWork() throws {
        let store = RecordingStore()
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
        #expect(marks(of: pipeline, in: store) == ["nnew"])
    }

    @Test("try in the block passes its error on")
    func tryPassesErrorsOn() throws {
        let store = RecordingStore()
        let pipeline = try Pipeline {
            Mark("a")
            try failing(store)
            NullTransport()
        }
        #expect(marks(of: pipeline, in: store) == ["a"])

        struct Refused: Error {}
        func refuse() throws -> RecordingStore { throw Refused() }
        #expect(throws: Refused.self) {
            try Pipeline {
                try refuse()
                NullTransport()
            }
        }
    }

    @Test("a host's own functions return fragments", arguments: [true, false])
    func hostFunctionsReturnFragments(flag: Bool) throws {
        let store = RecordingStore()
        let pipeline = try Pipeline {
            common(flag)
            Mark("3")
            kept(in: store)
        }
        #expect(marks(of: pipeline, in: store) == [flag ? "123k" : "13k"])

        let other = RecordingStore()
        let second = try Pipeline {
            common(flag)
            other
            sent()
        }
        #expect(marks(of: second, in: other) == [flag ? "12" : "1"])
    }

    @Test("optionals and arrays stand in fragments, in routes and after other lines")
    func optionalsAndArraysStandEverywhere() throws {
        @PipelineBuilder func stages(_ last: Mark?) -> ProcessorFragment {
            [Mark("1"), Mark("2")]
            last
        }
        let store = RecordingStore()
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
        #expect(marks(of: pipeline, in: store) == ["a123r"])
    }

    @Test("routes beside each other have processors of their own", arguments: [true, false])
    func routesHaveOwnProcessors(flag: Bool) throws {
        let stores = [RecordingStore(), RecordingStore(), RecordingStore()]
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
        #expect(marks(of: pipeline, in: stores[0]) == ["a1"])
        #expect(stores.dropFirst().map { $0.events.map { $0.properties["marks"] } } == [["a"], flag ? ["a34"] : []])
        #expect(pipeline.ledger.routes.map(\.name) == (flag ? ["first", "second", "third"] : ["first", "second"]))
    }
}
