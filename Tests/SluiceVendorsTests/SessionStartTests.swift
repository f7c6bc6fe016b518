import HTTPTestSupport
import Sluice
import SluiceHTTP
import SluiceTesting
import SluiceVendors
import Testing

@Suite("The start of a session in corrected events")
struct SessionStartTests {
    @Test(
        "no format sends a session that begins after its corrected event",
        arguments: [
            ("amplitude", .amplitude(apiKey: "k"), "session_id"),
            ("rudderStack", .rudderStack(writeKey: "k"), "sessionId"),
            ("googleAnalytics", .googleAnalytics(measurementID: "G-1", apiSecret: "s"), "session_id"),
            ("postHog", .postHog(apiKey: "k"), "session_id"), ("ndjson", .ndjson, "$session_id"),
            ("telemetryDeck", .telemetryDeck(appID: "a"), "sessionID"),
        ] as [(String, HTTPFormat, String)])
    func formatsSendMovedSession(name: String, format: HTTPFormat, key: String) async throws {
        // Two days behind the virtual clock.
        let date = HTTPResponse(status: 200, headers: [("Date", "Tue, 30 Dec 2025 00:00:00 GMT")])
        let (time, client) = (VirtualTime(), KeepingClient(responding: date))
        let transport = client.transport(format, clockCorrection: .learned(keptIn: .memory))
        try transport.open(in: .virtual(time))
        let id = EventID.make(at: time.wallTime()).description
        let event = Event(
            id: EventID(high: 0, low: 1), name: "E", time: time.wallTime(),
            properties: ["$session_id": .string(id), "$session_index": 1])
        for _ in 0..<2 { _ = try await transport.send(Batch(id: 1, events: [EventLine(event)])) }
        let starts = try client.requests.map { request in
            let value = try #require(try request.json.values(of: key).first, "\(request.text)")
            if let id = value.string.flatMap({ EventID($0) }) { return try #require(id.time).milliseconds }
            let number = Int64(try #require(value.asInt, "\(request.text)"))
            return number < 10_000_000_000 ? number * 1_000 : number
        }
        #expect(abs(starts[0] - starts[1] - 172_800_000) <= 1_500, "\(name): \(starts)")
    }
}
