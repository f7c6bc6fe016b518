import Foundation
import SluiceJSONL
import StoreFiles
import Testing

@testable import Inspector

@Suite("The page's server", .serialized)
struct ServerTests {
    private func status(_ response: String) -> String {
        String(response.split(separator: "\r\n").first?.split(separator: " ").dropFirst().first ?? "")
    }

    /// Whether the page has looked at the folder several times. Otherwise a test would wait for a missing text without end.
    private func hasPolled(_ response: String) -> Bool { response.matches(of: /event: counts/).count > 10 }

    @Test("The page is served with a policy that allows nothing from elsewhere")
    func servesPage() async throws {
        let folder = try TestFolder()
        let page = try await withInspector(folder) { client, token in await client.send("GET", "/?token=\(token)") }
        #expect(status(page) == "200")
        #expect(page.contains("default-src 'none'"))
        #expect(page.contains("</html>"))
        #expect(!page.contains("{{nonce}}"))
        let addresses = page.matches(of: /(src|href)="(?<address>[^"]*)"/).map(\.output.address)
        #expect(addresses == ["data:,"])
    }

    @Test("A request without the token, for another name or from another page is refused")
    func refusesOthers() async throws {
        let folder = try TestFolder()
        try await withInspector(folder) { client, token in
            #expect(status(await client.send("GET", "/")) == "403")
            #expect(status(await client.send("GET", "/?token=0")) == "403")
            #expect(status(await client.send("GET", "/nothing")) == "403")
            #expect(status(await client.send("GET", "/nothing?token=\(token)")) == "404")
            for path in ["/", "/events"] {
                let url = "\(path)?token=\(token)"
                #expect(status(await client.send("GET", url, host: "evil.example:\(client.port)")) == "403")
                #expect(status(await client.send("GET", url, headers: ["Origin: https://evil.example"])) == "403")
                #expect(status(await client.send("GET", url, headers: ["Origin: null"])) == "403")
            }
            let replay = "/replay?token=\(token)"
            #expect(status(await client.send("POST", replay, body: "{}")) == "403")
            #expect(status(await client.send("POST", replay, headers: ["Origin: null"], body: "{}")) == "403")
            let own = ["Origin: http://127.0.0.1:\(client.port)"]
            #expect(status(await client.send("POST", "/replay", headers: own, body: "{}")) == "403")
            // No destination was given.
            #expect(status(await client.send("POST", replay, headers: own, body: "{}")) == "409")
        }
    }

    @Test("A page sees the events that are there, then those that are appended")
    func streamsEvents() async throws {
        let folder = try TestFolder()
        try folder.write([.sample(1, "Before")])
        let store = try folder.openStore()
        try await withInspector(folder) { client, token in
            let url = "/events?token=\(token)"
            let first = await client.send("GET", url) { $0.contains(#""event":"Before""#) }
            #expect(first.contains("Content-Type: text/event-stream"))
            #expect(first.contains("event: welcome"))
            let sample: PropertyValue = .date(Timestamp(milliseconds: 0))
            let event = Event.sample(2, "After", ["date": sample, "large": .int(Int64.max)])
            try store.append(EventLine(event))
            let second = await client.send("GET", url) { $0.contains(#""event":"After""#) }
            #expect(second.contains(#"{"n":"date","t":"date","v":"1970-01-01T00:00:00.000Z"}"#))
            #expect(second.contains(#"{"n":"large","t":"int","v":"9223372036854775807"}"#))
            let counts = await client.send("GET", url) { $0.contains(#""waiting":2"#) }
            #expect(counts.contains(#""running":1"#))
        }
        store.close()
    }

    @Test("A page shows the status of each route: that of its running host, or the one that the last host left")
    func showsStatus() async throws {
        let folder = try TestFolder()
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        let directory = try folder.process().path
        let status =
            #"{"route":"main","state":"pausing","at":1,"nextAttempt":2,"lastStatus":503,"lastFailure":"busy","new":[]}"#
        func write(_ text: String) throws {
            try text.write(toFile: "\(directory)/status.json", atomically: true, encoding: .utf8)
        }
        @Sendable func shown(_ state: String, next: String) -> String {
            #""routes":[{"route":"main","state":"\#(state)","waiting":1,"deadLetters":0,"at":1,\#(next)"#
                + #""lastStatus":503,"lastFailure":"busy"}]"#
        }
        let (pausing, over) = (shown("pausing", next: #""nextAttempt":2,"#), shown("ended", next: ""))
        try write(status)
        try await withInspector(folder) { client, token in
            let url = "/events?token=\(token)"
            let running = await client.send("GET", url) { hasPolled($0) || $0.contains(pausing) }
            #expect(running.contains(pausing))
            try write("{")
            let unknown = #""routes":[{"route":"main","state":"running","waiting":1,"deadLetters":0}]"#
            let damaged = await client.send("GET", url) { hasPolled($0) || $0.contains(unknown) }
            #expect(damaged.contains(unknown))
            store.close()
            try write(status)
            let ended = await client.send("GET", url) { hasPolled($0) || $0.contains(over) }
            #expect(ended.contains(over) && ended.contains(#""running":0"#))
        }
    }

    @Test("A process with several routes counts once")
    func countsProcesses() async throws {
        let folder = try TestFolder()
        let stores = ["main", "vendor", "lake"].map { (JSONLStore(at: folder.path), $0) }
        for (number, (store, route)) in stores.enumerated() {
            try store.open(StoreObserver(route: route), in: PipelineEnvironment())
            try store.append(EventLine(.sample(number)))
        }
        try await withInspector(folder) { client, token in
            let counts = await client.send("GET", "/events?token=\(token)") { hasPolled($0) }
            #expect(counts.contains(#""waiting":3"#) && counts.contains(#""running":1"#))
            for (_, route) in stores { #expect(counts.contains(#""route":"\#(route)""#)) }
        }
        for (store, _) in stores { store.close() }
    }

    @Test("A page is told which events are sent next, were removed or became dead letters")
    func showsStates() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(9)])
        let store = try folder.openStore()
        try store.append(EventLine(.sample(1)))
        let batch = try #require(try store.nextBatch(BatchSize(events: 1, bytes: 1)))
        try store.append(EventLine(.sample(2)))
        let process = try #require(try StoreFolder(folder.path).processes().first { !$0.segments.isEmpty })
        let segments = process.segments.map(\.shortName)
        #expect(segments.count == 2)
        try #"{"route":"main","state":"ready","at":1}"#
            .write(toFile: "\(process.path)/status.json", atomically: true, encoding: .utf8)
        try await withInspector(folder) { client, token in
            let url = "/events?token=\(token)"
            let next = #""next":["\#(segments[0])"]"#
            let before = await client.send("GET", url) { hasPolled($0) || $0.contains(next) }
            #expect(before.contains(next))
            #expect(before.contains(#""keys":["main/\#(Event.sample(9).id)"]"#))
            #expect(before.contains(#""segment":"\#(segments[0])""#))
            try store.settle(batch.id)
            let removed = #""segments":["\#(segments[0])"]"#
            // Also for a page that opens later.
            for _ in 0..<2 {
                let after = await client.send("GET", url) { hasPolled($0) || $0.contains(removed) }
                #expect(after.contains(removed))
            }
        }
        store.close()
    }

    @Test("A page shows damage in dead letters, and that the folder was deleted")
    func showsProblems() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)])
        try folder.write([.sample(2)])
        let path = try #require(try StoreFolder(folder.path).processes().flatMap(\.deadLetterFiles).first)
        try edit(path) { $0 += Array("junk\n".utf8) }
        try await withInspector(folder) { client, token in
            let url = "/events?token=\(token)"
            let damaged = await client.send("GET", url) { hasPolled($0) || $0.contains(#""damaged":1"#) }
            #expect(damaged.contains(#""damaged":1"#))
            #expect(damaged.contains(#""waiting":1"#))
            try FileManager.default.removeItem(atPath: folder.path)
            let deleted = await client.send("GET", url) { hasPolled($0) || $0.contains("doesn't exist any more") }
            #expect(deleted.contains("doesn't exist any more"))
        }
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
    }

    @Test("A page shows that dead letters can't be read")
    func showsUnreadableDeadLetters() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)])
        let path = try #require(try folder.process().deadLetterFiles.first)
        try FileManager.default.createSymbolicLink(atPath: "\(path).jsonl", withDestinationPath: "/etc/passwd")
        try await withInspector(folder) { client, token in
            let counts = await client.send("GET", "/events?token=\(token)") {
                hasPolled($0) || $0.contains(#""problem":"#)
            }
            #expect(counts.contains("can't be read"))
        }
    }

    @Test("A port that can't be used gets advice")
    func explainsPorts() {
        let advice = "pass another one with --port, or 0 for any free one"
        #expect(PortProblem(port: 80, code: EACCES).description == "port 80 is not allowed for this user: \(advice)")
        #expect(PortProblem(port: 80, code: EADDRINUSE).description == "port 80 is in use: \(advice)")
        #expect(PortProblem(port: 80, code: EADDRNOTAVAIL).description.hasSuffix(advice))
    }

    @Test("The page replays dead letters, and only those that were selected")
    func replaysFromPage() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1), .sample(2), .sample(3)])
        try await withCollector(status: { _ in 200 }) { url, collector in
            let destination = try Destination(url: url, format: "ndjson", headers: [])
            try await withInspector(folder, destination: destination) { client, token in
                let own = ["Origin: http://127.0.0.1:\(client.port)"]
                let body = #"{"route":"main","ids":["\#(Event.sample(2).id)"]}"#
                var response = ""
                repeat {
                    // The page locks a folder for a moment when it looks whether a process runs.
                    response = await client.send("POST", "/replay?token=\(token)", headers: own, body: body)
                } while response.contains("not tried")
                #expect(response.contains("1 delivered, 0 rejected, 0 remain"))
            }
            #expect(await collector.lines == [String(decoding: try EventLine(.sample(2)).bytes, as: UTF8.self)])
        }
    }

    @Test("The page says why a replay failed, and how to go on without a terminal")
    func explainsFailure() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters([.sample(1)])
        try await withCollector(status: { _ in 401 }) { url, _ in
            let destination = try Destination(url: url, format: "ndjson", headers: [])
            try await withInspector(folder, destination: destination) { client, token in
                let own = ["Origin: http://127.0.0.1:\(client.port)"]
                var response = ""
                repeat {
                    response = await client.send(
                        "POST", "/replay?token=\(token)", headers: own, body: #"{"route":"main"}"#)
                } while response.contains("not tried")
                #expect(response.contains("1 remain. The last attempt failed: the server refused the credentials"))
                #expect(response.contains("HTTP 401"))
                #expect(response.hasSuffix("Repeat the replay later, and it continues with them"))
            }
        }
    }

    @Test("The page replays a group of any route, also one that it doesn't show wholly")
    func replaysGroup() async throws {
        let folder = try TestFolder()
        try folder.writeDeadLetters((0..<333).map { .sample($0) }, reason: "HTTP 400", route: "vendor")
        try folder.writeDeadLetters([.sample(1_000)], reason: "HTTP 422", route: "vendor")
        try folder.writeDeadLetters([.sample(1_001)], reason: "HTTP 400")
        try await withCollector(status: { _ in 200 }) { url, collector in
            let destination = try Destination(url: url, format: "ndjson", headers: [])
            try await withInspector(folder, destination: destination) { client, token in
                let shown = await client.send("GET", "/events?token=\(token)") { hasPolled($0) }
                #expect(shown.contains(#"{"route":"vendor","reason":"HTTP 400","count":333,"#))
                let own = ["Origin: http://127.0.0.1:\(client.port)"]
                let replay = "/replay?token=\(token)"
                let unknown = await client.send("POST", replay, headers: own, body: #"{"route":"vendr"}"#)
                #expect(unknown.contains("which has events of main (1), vendor (334)"))
                let body = #"{"route":"vendor","group":{"reason":"HTTP 400"}}"#
                let response = await client.send("POST", replay, headers: own, body: body)
                #expect(response.contains("333 delivered, 0 rejected, 0 remain"))
            }
            #expect(await collector.lines.count == 333)
        }
        #expect(try folder.counts() == [0, 2])
    }

    @Test("A search reads the whole folder, and counts the events by name, user and session")
    func scansFolder() async throws {
        let folder = try TestFolder()
        try folder.write((0..<3_000).map { .sample($0, $0 == 5 ? "Rare" : "Often", ["number": .int(Int64($0))]) })
        try folder.writeDeadLetters([.sample(5_000, "Refused", ["number": 5])])
        try await withInspector(folder) { client, token in
            let all = await client.send("GET", "/scan?token=\(token)")
            #expect(all.contains(#""events":3001"#))
            #expect(all.contains(#"{"text":"Often","count":2999}"#))
            let one = await client.send("GET", "/scan?token=\(token)&text=number%3D5&name=r")
            #expect(one.contains(#""events":2"#) && one.contains(#""event":"Rare""#) && one.contains(#""dead":true"#))
            let none = await client.send("GET", "/scan?token=\(token)&from=1767225600001")
            #expect(none.contains(#""events":0"#))
            // The route of a page's filter can have delivered all of its events.
            let former = await client.send("GET", "/scan?token=\(token)&route=vendor")
            #expect(former.contains(#""events":0"#))
            for wrong in ["from=x", "from=2&to=1"] {
                #expect(status(await client.send("GET", "/scan?token=\(token)&\(wrong)")) == "400")
            }
        }
    }
}
