import HTTPTestSupport
import Sluice
import Testing

@testable import SluiceHTTP

/// What InfluxDB 1.6.7, 1.12 and 2.7 answered to points whose field has another type than earlier ones, and altered answers.
@Suite("Type conflicts of InfluxDB")
struct InfluxDBConflictTests {
    /// The answer about a field, as version 1 writes it.
    static func words(_ field: String, _ measurement: String, _ types: String, _ dropped: String = " dropped=1")
        -> String
    {
        let types = types.split(separator: " ")
        return
            "partial write: field type conflict: input field \"\(field)\" on measurement \"\(measurement)\" is type \(types[0]), "
            + "already exists as type \(types[1])\(dropped)"
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let words: String
        /// `x` is a rejected event, and `.` one that is sent again. Nil if all of them are refused.
        let fates: String?
        var member = "error"
        var keepsIntegers = false

        var testDescription: String { "\(status) \(words)" }
    }

    static let rows = [
        Row(status: 400, words: words("n", "Cart", "string float"), fates: ".x...."),
        Row(status: 400, words: words("n", "Cart", "boolean float"), fates: "..x..."),
        Row(
            status: 400,
            words: words("n", "Cart", "string float", " dropped=1 for database: d for retention policy: autogen"),
            fates: ".x...."),
        Row(
            status: 422, words: "failure writing points to database: " + words("n", "Order", "string float"),
            fates: ".....x", member: "message"),
        // The second event that was left out has another field. The next answer names it.
        Row(status: 400, words: words("n", "Cart", "string float", " dropped=2"), fates: ".x...."),
        Row(status: 400, words: words("n", "Cart", "float string", " dropped=2"), fates: "x..x.."),
        Row(status: 400, words: words("n", "Cart", "float string", " dropped=3"), fates: "x..x.."),
        // One of the two is right in its shard.
        Row(status: 400, words: words("n", "Cart", "float string"), fates: nil),
        Row(status: 400, words: words("n", "Cart", "integer string"), fates: "...x..", keepsIntegers: true),
        Row(status: 400, words: words("n", "Cart", "integer string"), fates: nil),
        Row(status: 400, words: words("a b,c=d\"e", "my m,x\"q", "string float"), fates: "....x."),
        Row(status: 400, words: words("name._at", "my m,x\"q", "float string"), fates: "....x."),
        Row(status: 400, words: words("id", "Order", "string float"), fates: ".....x"),
        Row(status: 400, words: words("m", "Cart", "string float"), fates: nil),
        Row(status: 400, words: words("n", "Car", "string float"), fates: nil),
        Row(status: 400, words: words("n", "Cart", "string float", ""), fates: nil),
        Row(status: 400, words: words("n", "Cart", "string float", " dropped=0"), fates: nil),
        Row(status: 400, words: words("n", "Cart", "string float", " dropped=x"), fates: nil),
        // Before 1.2, no point of such a request was written.
        Row(status: 400, words: String(words("n", "Cart", "string float").dropFirst(15)), fates: nil),
        Row(status: 400, words: "partial write: points beyond retention policy dropped=1", fates: nil),
    ]

    /// Events with `n` as float, text, boolean and integer, one with names that need escapes, and one of another name.
    private static func batch(hoursApart hours: Int64 = 0) throws -> Batch {
        let values: [(String, Properties)] = [
            ("Cart", ["n": 1.5]), ("Cart", ["n": "x"]), ("Cart", ["n": true]), ("Cart", ["n": 2]),
            ("my m,x\"q", ["a b,c=d\"e": "y", "_at": 1.5]), ("Order", ["n": "z", "none": .null]),
        ]
        return Batch(
            id: 1,
            events: try values.enumerated().map { index, value in
                var event = Event.bare
                (event.name, event.properties) = value
                event.time = Timestamp(milliseconds: event.time.milliseconds + Int64(index) * hours * 3_600_000)
                return try EventLine(event)
            })
    }

    private static func response(_ status: Int, _ words: String, in member: String) -> HTTPResponse {
        HTTPResponse(status: status, body: Array(PropertyValue.object([member: .string(words)]).text.utf8))
    }

    @Test("only the events that have the named field with the wrong type are rejected", arguments: rows)
    func rejectsNamedField(row: Row) throws {
        let format = HTTPFormat.influxDBV1(database: "d", keepsIntegers: row.keepsIntegers)
        let response = Self.response(row.status, row.words, in: row.member)
        let fates = format.verdicts(for: try Self.batch(), from: response).fates(of: 6)
        #expect(fates == (row.fates ?? "######").map { ["x": .rejected, ".": .retry][$0] ?? .refused })
    }

    @Test("events of several hours can lie in several shards, in which a field has several types")
    func hoursAreShards() throws {
        let format = HTTPFormat.influxDBV1(database: "d")
        let batch = try Self.batch(hoursApart: 1)
        let several = Self.response(400, Self.words("n", "Cart", "float string", " dropped=2"), in: "error")
        // One of the two is right, or neither. Each hour is asked for alone.
        let fates: [Fate] = [.refused, .retry, .retry, .refused, .retry, .retry]
        #expect(format.verdicts(for: batch, from: several).fates(of: 6) == fates)
        let one = Self.response(400, Self.words("n", "Cart", "string float", " dropped=2"), in: "error")
        #expect(format.verdicts(for: batch, from: one).fates(of: 6).map { $0 == .rejected }.firstIndex(of: true) == 1)
    }

    @Test(
        "an answer with another status says nothing about single events",
        arguments: [(500, Fate.retry), (204, .accepted), (413, .tooLarge)])
    func readsStatusFirst(status: Int, fate: Fate) throws {
        let response = Self.response(status, Self.words("n", "Cart", "string float"), in: "error")
        let verdicts = HTTPFormat.influxDBV1(database: "d").verdicts(for: try Self.batch(), from: response)
        #expect(verdicts.fates(of: 6) == Array(repeating: fate, count: 6))
    }
}
