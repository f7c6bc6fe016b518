import Sluice
import SluiceTesting
import TestSupport
import Testing

extension TraceTests {
    @Test("a printed trace is a table")
    func traceIsPrintedAsTable() throws {
        let time = VirtualTime()
        let pipeline = try Pipeline(
            maximumEventBytes: 300, environment: .virtual(time, seed: 1), onTrace: traces.record
        ) {
            Keep()
            Transform { event in
                time.advance(by: .microseconds(1_234))
                event.properties["email"] = nil
                event.properties["currency"] = "EUR"
                event.properties["price"] = 12
                event.properties["line\nbreak"] = .string(String(repeating: "x", count: 100))
                event.name = "Two\nlines"
                event.properties["six"] = 6
            }
            Route("main", in: store)
            Route("audit", Filter { _ in false })
        }
        pipeline.track("Purchase", ["price": 12.5, "email": "a@b.example"], id: EventID(high: 0, low: 1))
        let xs = String(repeating: "x", count: 38)
        #expect(
            traces.traces[0].description == """
                Purchase 00000000-0000-0000-0000-000000000001: stored in main, dropped (filtered) in audit
                  stage              time  result              changes
                  Keep             0.0 µs  kept
                  Transform     1234.0 µs  kept                ~ name = "Purchase" -> "Two\\nlines"
                                                               ~ price = 12.5 -> 12
                                                               + currency = "EUR"
                                                               + "line\\nbreak" = "\(xs)…
                                                               + six = 6
                                                               and 1 more
                  audit/Filter     0.0 µs  dropped (filtered)
                  -> main                  stored
                  -> audit                 dropped (filtered)
                """)
        pipeline.track("", id: EventID(high: 0, low: 2))
        let id = "00000000-0000-0000-0000-000000000003"
        pipeline.track("Large", ["x": .string(String(repeating: "x", count: 300))], id: EventID(high: 0, low: 3))
        let last = try #require(traces.traces.last).description
        #expect(last.hasPrefix("Large \(id): dropped (tooLarge) in main, dropped (filtered) in audit\n"))
        #expect(last.contains("  -> main                  dropped (tooLarge)  "))
    }
}
