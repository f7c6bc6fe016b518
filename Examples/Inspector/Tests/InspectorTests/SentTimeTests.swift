import Sluice
import Testing

@testable import Inspector

@Suite("Times of other senders")
struct SentTimeTests {
    private static let now = Timestamp(milliseconds: 1_767_225_600_000)

    private func event(_ members: String) throws -> Event {
        try ReceivedBody(Array(#"{"event":"A",\#(members)}"#.utf8), at: SentTimeTests.now).events[0].event
    }

    @Test(
        "A text in any form of RFC 3339 is the event's time",
        arguments: [
            ("2024-02-03T04:05:06.000Z", 0), ("2024-02-03T04:05:06Z", 0), ("2024-02-03t04:05:06.5z", 500),
            ("2024-02-03 04:05:06.1239999Z", 123), ("2024-02-03T04:05:06+00:00", 0),
            ("2024-02-03T04:05:06-00:00", 0), ("2024-02-03T06:05:06+02:00", 0), ("2024-02-02T22:35:06.25-05:30", 250),
        ], ["time", "timestamp", "originalTimestamp"])
    func readsText(_ text: (String, milliseconds: Int64), name: String) throws {
        let event = try event(#""\#(name)":"\#(text.0)""#)
        #expect(event.time == Timestamp(milliseconds: 1_706_933_106_000 + text.milliseconds))
        #expect(event.properties.isEmpty)
    }

    @Test(
        "A number is the time in seconds or in milliseconds, by its size",
        arguments: [
            ("1706933106", 0), ("1706933106.25", 250), ("1706933106000", 0), ("1706933106250.0", 250),
            ("1.706933106e9", 0), ("-1.5", -1_706_933_107_500),
        ], ["time", "timestamp", "originalTimestamp"])
    func readsNumber(_ number: (String, milliseconds: Int64), name: String) throws {
        let event = try event(#""\#(name)":\#(number.0)"#)
        #expect(event.time == Timestamp(milliseconds: 1_706_933_106_000 + number.milliseconds))
        #expect(event.properties.isEmpty)
    }

    @Test(
        "A value that is no time stays a property",
        arguments: [
            #""""#, #""noon""#, #""2024-02-03""#, #""2024-02-30T04:05:06Z""#, #""2024-02-03T04:05:06""#,
            #""2024-02-03T04:05:06.Z""#, #""2024-02-03T04:05:06+24:00""#, #""2024-02-03T04:05:06+0200""#,
            #""2024-02-03T04:05:06ZZ""#, "true", "[1]", "1e300", "9223372036854775807", "-9223372036854775808",
        ])
    func keepsOthers(value: String) throws {
        let event = try event(#""timestamp":\#(value)"#)
        #expect(event.time == SentTimeTests.now)
        #expect(event.properties["timestamp"] != nil)
    }

    @Test("A time that can't be read hides no other")
    func triesOthers() throws {
        let event = try event(#""time":"noon","timestamp":1706933106"#)
        #expect(event.time == Timestamp(milliseconds: 1_706_933_106_000))
        #expect(event.properties == ["time": "noon"])
    }
}
