import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceHTTP
import SluiceIdentity
import SluiceJSONL
import SluiceMemory
import SluicePassiveLaunch
import SluiceVendors

/// A number that the host, its users or the clients of a server choose. The work for it must be linear.
struct Dimension: Sendable {
    let name: String
    /// Prepares the work for a number, and returns it.
    let prepare: @Sendable (_ count: Int, _ folder: String) throws -> () throws -> Void
}

private func require(_ condition: Bool) throws { precondition(condition) }

func numbered(_ count: Int, _ value: (Int) -> PropertyValue = { .int(Int64($0)) }) -> Properties {
    Properties((0..<count).map { ("q\($0)", value($0)) })
}

func numberedLines(_ count: Int) throws -> [EventLine] {
    try (0..<count).map { try EventLine(Event(name: "E", properties: ["n": .int($0)])) }
}

private func processed(_ processor: some Processor, _ event: Event) {
    var event = event
    _ = processor.process(&event)
}

let dimensions: [Dimension] = [
    Dimension(name: "names-redacted") { count, _ in
        let event = Event(name: "E", properties: numbered(count) { .string("a\($0)@example.com") })
        return { processed(Redaction(patterns: [.email]), event) }
    },
    Dimension(name: "names-renamed") { count, _ in
        let properties = Properties((0..<count).map { ("a\($0)@example.com", .int(Int64($0))) })
        return { processed(Redaction(patterns: [.email]), Event(name: "E", properties: properties)) }
    },
    Dimension(name: "names-cut") { count, _ in
        var limits = Limits(properties: .cut(to: count - 1), propertyName: .cut(to: 7), string: .cut(to: 3))
        limits.reservedNames = ["r*"]
        let event = Event(name: "E", properties: numbered(count) { .string("value \($0)") })
        return { processed(limits, event) }
    },
    Dimension(name: "names-dropped") { count, _ in
        let event = Event(name: "E", properties: numbered(count) { .string("value \($0)") })
        return { processed(Limits(string: .dropProperty(over: 3)), event) }
    },
    Dimension(name: "names-stored") { count, folder in
        let pipeline = try Pipeline {
            sixStages(stateIn: folder)
            Deduplication(within: .seconds(1))
            MemoryStore(capacity: .max)
            AcceptingTransport()
        }
        pipeline.pauseDelivery()
        let properties = numbered(count)
        return { pipeline.track("E", properties) }
    },
    Dimension(name: "stages") { count, _ in
        let pipeline = try Pipeline {
            for _ in 0..<count { Transform { $0.properties["n"] = 1 } }
            MemoryStore(capacity: .max)
            AcceptingTransport()
        }
        pipeline.pauseDelivery()
        return { pipeline.track("E") }
    },
    Dimension(name: "stages-built") { count, _ in
        return {
            _ = try Pipeline {
                for _ in 0..<count { Transform { $0.properties["n"] = 1 } }
                MemoryStore(capacity: .max)
                AcceptingTransport()
            }
        }
    },
    // Each route has threads of its own, so a hundredth of the routes shows the same.
    Dimension(name: "routes") { count, _ in
        return {
            let pipeline = try Pipeline {
                for number in 0..<max(1, count / 100) {
                    Route("\(number)") {
                        MemoryStore(capacity: .max)
                        AcceptingTransport()
                    }
                }
            }
            pipeline.pauseDelivery()
            pipeline.track("E")
            precondition(pipeline.ledger.isBalanced)
        }
    },
    Dimension(name: "names-registered") { count, _ in
        let properties = AutoProperties()
        let own = numbered(count)
        let others = Properties(own.map { ("r" + $0.name, $0.value) })
        return {
            properties.register(.init(others))
            processed(properties, Event(name: "E", properties: own))
        }
    },
    Dimension(name: "names-merged") { count, _ in
        let (first, second) = (numbered(count), Properties(numbered(count).reversed()))
        return {
            var merged = first + second
            merged.addDefaults(second)
            precondition(merged == Properties(second.reversed()) && first == second)
        }
    },
    Dimension(name: "names-read") { count, _ in
        let line = try EventLine(Event(name: "E", properties: numbered(count)))
        return { try require(try line.event().properties.count == count) }
    },
    Dimension(name: "names-encoded") { count, _ in
        let values = Dictionary(uniqueKeysWithValues: (0..<count).map { ("q\($0)", ["k": [$0]]) })
        return { try require(try Properties(encoding: values).count == count) }
    },
    Dimension(name: "values") { count, folder in
        let pipeline = try pipeline(stages: true, disk: false, in: folder)
        let array = PropertyArray((0..<count).map { .string("a\($0)@example.com") })
        return { pipeline.track("E", ["list": .array(array), "object": ["list": .array(array)]]) }
    },
    Dimension(name: "nesting") { count, _ in
        let text = Array((String(repeating: "[", count: count) + String(repeating: "]", count: count)).utf8)
        return {
            var value: PropertyValue = "bottom"
            for _ in 0..<count { value = ["k": [value]] }
            do throws(SluiceError) {
                _ = try PropertyValue(json: text)
            } catch {
                precondition(count > PropertyValue.maximumDepth)
            }
        }
    },
    Dimension(name: "links") { count, _ in
        let links = Links()
        let url = "https://shop.example/?utm_source=news&reset_token=a&page=2"
        return { for number in 0..<count { links.opened(url + "&utm_term=\(number)") } }
    },
    Dimension(name: "link-parameters") { count, _ in
        let links = Links(redacting: Links.secretNames.union(["invitation"]))
        let url = "https://shop.example/?" + (0..<count).map { "q\($0)=\($0)" }.joined(separator: "&")
        return { links.opened(url) }
    },
    Dimension(name: "event-names") { count, _ in
        var limits = Limits()
        limits.distinctEventNames = .dropEvent(over: count)
        let (rate, timer, duplicates) = (
            RateLimit(10, per: .seconds(1)), DurationTimer(), Deduplication(within: .seconds(1))
        )
        return {
            for number in 0..<count {
                let event = Event(name: "E\(number)", distinctID: "user \(number)")
                processed(limits, event)
                processed(rate, event)
                processed(duplicates, event)
                _ = timer.start("E\(number)")
            }
            for number in 0..<count { timer.end("E\(number)") }
        }
    },
    Dimension(name: "segments") { count, folder in
        let line = try numberedLines(1)[0]
        var files = SystemFileSystem()
        files.maximumFileBytes = line.bytes.count * 3 / 2
        let folder = "\(folder)/\(count)"
        // Creating and removing a file is the kernel's work, so a quarter of the segments shows the same.
        return {
            let store = try openStore(in: folder, files)
            for _ in 0..<count / 4 { try store.append(line) }
            store.close()
            let next = try openStore(in: folder)
            while let batch = try next.nextBatch(BatchSize(events: 1, bytes: .max)) { try next.settle(batch.id) }
        }
    },
    Dimension(name: "dead-letters") { count, folder in
        let folder = "\(folder)/\(count)"
        let lines = try numberedLines(count)
        return {
            let stores = [try openStore(in: folder), MemoryStore(capacity: .max)] as [any Store]
            try stores[1].open(
                StoreObserver(onRecovered: { _ in }, onDropped: { _, _ in }, onNote: { _ in }), in: .init())
            for store in stores {
                for line in lines { try store.append(line) }
                while let batch = try store.nextBatch(BatchSize(events: 100, bytes: .max)) {
                    for line in batch.events {
                        store.reject([DeadLetter(line: line, reason: "HTTP 400", date: .now)], in: batch.id)
                    }
                    try store.settle(batch.id)
                }
                let ids = try store.deadLetters().map(\.id)
                precondition(ids.count == count)
                try require(try store.replayDeadLetters(Set(ids.prefix(count / 2))) == count / 2)
                try require(try store.discardDeadLetters(Set(ids)) == count - count / 2)
            }
        }
    },
    Dimension(name: "batch") { count, _ in
        let lines = try numberedLines(count)
        return { try encodeInAllFormats(Batch(id: 1, events: lines)) }
    },
    Dimension(name: "names-sent") { count, _ in
        let line = try EventLine(Event(name: "E", properties: numbered(count)))
        return { try encodeInAllFormats(Batch(id: 1, events: [line])) }
    },
    Dimension(name: "profile-names-sent") { count, _ in
        let event = Event(name: "$set_profile", properties: ["$set": .object(numbered(count))])
        let line = try EventLine(event)
        return { try encodeInAllFormats(Batch(id: 1, events: [line])) }
    },
]

func encodeInAllFormats(_ batch: Batch) throws {
    let formats: [HTTPFormat] = [
        .ndjson, .segment(writeKey: "k"), .postHog(apiKey: "k"), .postHogBatch(apiKey: "k"), .mixpanel(token: "k"),
        .amplitude(apiKey: "k"), .sensors(token: "k"), .clickHouse(table: "t"), .elasticsearch(index: "i"),
        .otlp(service: "s"), .loki(labels: ["a": "b"]), .kafka(topic: "t"), .kafkaV3(cluster: "c", topic: "t"),
        .datadog(apiKey: "k", service: "s"),
    ]
    for format in formats {
        var request = HTTPRequest(url: "https://h.example")
        try format.encode(batch, into: &request)
    }
}

/// Prepares the work of a dimension for a number, and does it.
func work(on name: String, _ count: Int, in folder: String) throws {
    for dimension in dimensions where dimension.name == name { try dimension.prepare(count, folder)() }
}
