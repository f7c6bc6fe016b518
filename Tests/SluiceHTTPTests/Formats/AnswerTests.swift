import Sluice
import Testing

@testable import SluiceHTTP

/// What came of one event, without the sentence that says why.
enum Fate: String, Sendable {
    case accepted, duplicate, retry, rejected, tooLarge, refused, hold

    init(_ verdict: Verdict) {
        switch verdict {
        case .accepted: self = .accepted
        case .duplicate: self = .duplicate
        case .retry: self = .retry
        case .rejected, .unsendable: self = .rejected
        case .split(.tooLarge): self = .tooLarge
        case .split(.refused): self = .refused
        case .hold: self = .hold
        }
    }
}

/// An answer to a batch of three events, and what it means for each of them.
struct AnswerRow: Sendable, CustomTestStringConvertible {
    let format: String
    let status: Int
    let headers: [(name: String, value: String)]
    let body: String
    let fates: [Fate]

    init(_ format: String, _ status: Int, headers: [(name: String, value: String)] = [], _ fate: Fate) {
        self.init(format, status, "", headers: headers, fate)
    }

    init(
        _ format: String, _ status: Int, _ body: String, headers: [(name: String, value: String)] = [],
        _ fates: Fate...
    ) {
        self.format = format
        self.status = status
        self.headers = headers
        self.body = body
        self.fates = fates.count == 1 ? Array(repeating: fates[0], count: 3) : fates
    }

    var testDescription: String { "\(format) \(status) \(headers.map(\.value).joined()) \(body.prefix(90))" }

    func verdicts(isWhole: Bool = true) throws -> Verdicts {
        let answer = HTTPAnswer(status: status, headers: headers, body: Array(body.utf8), isWhole: isWhole)
        return try FormatSample.named(format).format.classify(answer, .allKinds())
    }
}

extension Verdicts {
    func fates(of count: Int) -> [Fate] {
        switch self {
        case .all(let verdict): Array(repeating: Fate(verdict), count: count)
        case .each(let verdicts): verdicts.map { Fate($0) }
        }
    }
}

@Suite("What each format makes of an answer", .timeLimit(.minutes(10)))
struct AnswerTests {
    @Test("a row of the backends' documentation", arguments: AnswerTables.all)
    func row(row: AnswerRow) throws {
        #expect(try row.verdicts().fates(of: 3) == row.fates)
    }

    /// Formats of which the status says all; the others want to see their backend's own words.
    static let takesAnySuccess: Set<String> = ["jsonArray", "ndjson", "fluentBit", "vector", "sensors", "segment"]

    @Test("a 2xx is no success if its body is another's", arguments: FormatSample.all)
    func foreign(sample: FormatSample) throws {
        for body in ["<html>Sign in</html>", #"{"success":"#, "[]", "null", "\u{0}", #"{"success":false}"#] {
            let answer = HTTPAnswer(status: 200, body: Array(body.utf8))
            let fates = try Set(sample.format.classify(answer, .allKinds()).fates(of: 3))
            if Self.takesAnySuccess.contains(sample.name), sample.name != "segment" {
                #expect(fates == [.accepted])
            } else if sample.name == "otlp", body == #"{"success":false}"# {
                #expect(fates == [.accepted], "an object without a partial success is one")
            } else {
                #expect(fates == [.retry] || fates == [.hold], "\(body)")
            }
        }
    }

    @Test("a body of which only the beginning was read is no success", arguments: AnswerTables.all.indices)
    func cut(row: Int) throws {
        let row = AnswerTables.all[row]
        // Neither of these formats looks into the body of a success.
        guard !["loki", "datadog", "clickHouse"].contains(row.format), row.status / 100 == 2, !row.body.isEmpty,
            !Self.takesAnySuccess.contains(row.format) || row.format == "segment", row.format != "kafkaV3"
        else { return }
        #expect(try Set(row.verdicts(isWhole: false).fates(of: 3)) == [.retry])
    }

    @Test("no status alone gives up an event, and only a 2xx is a success", arguments: FormatSample.all)
    func statuses(sample: FormatSample) throws {
        for status in 0...700 {
            for body in ["", "{}", "OK", "[]", "<html>"] {
                let fates = try sample.format.classify(
                    HTTPAnswer(status: status, body: Array(body.utf8)), .allKinds()
                ).fates(of: 3)
                #expect(!fates.contains(.rejected))
                if fates.contains(.accepted) { #expect((200...299).contains(status)) }
                if [301, 401, 403, 404].contains(status) { #expect(Set(fates) == [.hold]) }
                if [429, 500, 502, 503, 504].contains(status) { #expect(Set(fates) == [.retry]) }
                if status == 413 { #expect(Set(fates) == [.tooLarge]) }
            }
        }
    }

    @Test("Retry-After is obeyed, whole and per event", arguments: FormatSample.all)
    func retryAfter(sample: FormatSample) throws {
        let headers = [(name: "Retry-After", value: "7")]
        for status in [429, 503] {
            let verdicts = try sample.format.classify(HTTPAnswer(status: status, headers: headers), .allKinds())
            #expect(verdicts == .all(.retry(after: .seconds(7))))
        }
    }

    @Test("Loki's own way to say that it takes nothing in is told from an answer that is not Loki's")
    func blockedLoki() throws {
        let reasons = try [260, 200].map { "\(try AnswerRow("loki", $0, .hold).verdicts())" }
        #expect(reasons[0].contains("260") && !reasons[1].contains("260"))
    }

    @Test("an answer that lists more results than there were events says nothing that can be trusted")
    func tooMany() throws {
        for (format, item) in [
            ("elasticsearch", #"{"create":{"status":201}}"#), ("kafka", #"{"offset":1}"#),
        ] {
            let key = format == "kafka" ? "offsets" : "items"
            for count in [0, 2, 4] {
                let body = "{\"\(key)\":[" + Array(repeating: item, count: count).joined(separator: ",") + "]}"
                #expect(try Set(AnswerRow(format, 200, body, .retry).verdicts().fates(of: 3)) == [.retry])
            }
        }
    }
}
