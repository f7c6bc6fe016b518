import HTTPTestSupport
import Sluice
import TestSupport
import Testing

@testable import SluiceHTTP

extension AnsweredEventTests {
    /// A gateway in front of a collector. It answers a request with a bad event in its own way.
    final class Gateway: HTTPClient {
        enum Answer: Sendable, Hashable, CustomStringConvertible {
            case status(Int)
            /// A 200 with a page in HTML.
            case page
            /// A 200 that names the bad events, and accepts the others.
            case named
            /// No response.
            case broken

            var status: Int {
                switch self {
                case .status(let status): status
                case .page, .named, .broken: 200
                }
            }

            var description: String {
                switch self {
                case .status(let status): "\(status)"
                case .page: "HTML-200"
                case .named: "named"
                case .broken: "no response"
                }
            }
        }

        private struct State {
            var requests = 0
            var accepted: [Int] = []
            var answersAll: Answer?
        }

        private let answer: Answer
        private let format: String
        private let state = Locked(State())

        init(_ answer: Answer, format: String = "ndjson") {
            (self.answer, self.format) = (answer, format)
        }

        private func success(of body: String) -> String {
            switch format {
            case "elasticsearch":
                #"{"items":["#
                    + body.split(separator: "number-").dropFirst()
                    .map { _ in #"{"create":{"status":201}}"# }.joined(separator: ",") + "]}"
            case "otlp": "{}"
            case "named": String(repeating: "1", count: body.split(separator: "\n").count)
            default: ""
            }
        }

        var requests: Int { state.withLock(\.requests) }
        /// In the order of arrival.
        var accepted: [Int] { state.withLock(\.accepted) }

        func answerAll(_ answer: Answer?) { state.withLock { $0.answersAll = answer } }

        private static func numbers(in body: some StringProtocol) -> [Int] {
            body.split(separator: "number-").dropFirst().compactMap { Int($0.prefix { $0.isNumber }) }
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let body = String(decoding: request.body, as: UTF8.self)
            return try state.withLock { state in
                state.requests += 1
                guard let answer = state.answersAll ?? (body.contains("poison") ? answer : nil) else {
                    state.accepted += Self.numbers(in: body)
                    return HTTPResponse(200, success(of: body))
                }
                switch answer {
                case .status(let status):
                    return HTTPResponse(status, "rule 942100 says no")
                case .page: return HTTPResponse(200, "<html>rule 942100 says no</html>")
                case .named:
                    let lines = body.split(separator: "\n").map { (line: $0, isBad: $0.contains("poison")) }
                    for (line, isBad) in lines where !isBad { state.accepted += Self.numbers(in: line) }
                    return HTTPResponse(200, lines.map { $0.isBad ? "0" : "1" }.joined())
                case .broken: throw SluiceError(.inputOutput, "connection reset")
                }
            }
        }
    }

    /// NDJSON whose responses name the rejected events by a 0 for each.
    struct NamingFormat: FormatWrapper {
        var base: HTTPFormat { .ndjson }

        func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
            guard response.status == 200 else { return base.verdicts(for: batch, from: response) }
            return .each(
                response.body.map { byte in
                    guard byte == UInt8(ascii: "0") else { return .accepted }
                    var verdict = Verdict.rejected(reason: "named")
                    verdict.response = "rule 942100 says no"
                    return verdict
                }, status: 200)
        }
    }

    enum Place: String, CaseIterable, Sendable {
        case front, middle, eachSegment
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let answer: Gateway.Answer
        let bad: Int
        let place: Place
        let isJSONL: Bool
        let format: String

        var testDescription: String {
            "\(answer), \(bad) bad events, \(place), \(isJSONL ? "JSONLStore" : "MemoryStore"), \(format)"
        }

        /// The events in their order: numbers below zero are bad ones.
        var events: [Int] {
            let good = Array(1...AnsweredEventTests.good)
            let evil = (1...bad).map { -$0 }
            switch place {
            case .front: return evil + good
            case .middle: return Array(good[..<250]) + evil + Array(good[250...])
            case .eachSegment:
                let share = (bad + 4) / 5
                var events: [Int] = []
                for segment in 0..<5 {
                    events += good[segment * 100..<segment * 100 + 50]
                    events += evil.dropFirst(segment * share).prefix(share)
                    events += good[segment * 100 + 50..<segment * 100 + 100]
                }
                return events
            }
        }

        static let all: [Case] = {
            let statuses = [302, 400, 403, 404, 406, 409, 413, 422, 431, 451, 500, 502]
            let answers: [Gateway.Answer] = statuses.map { .status($0) } + [.page, .named]
            var cases: [Case] = []
            for answer in answers {
                for bad in [1, 2, 100] {
                    for place in Place.allCases {
                        for isJSONL in [false, true] {
                            for format in answer == .named ? ["named"] : ["ndjson", "elasticsearch", "otlp"] {
                                cases.append(
                                    Case(answer: answer, bad: bad, place: place, isJSONL: isJSONL, format: format))
                            }
                        }
                    }
                }
            }
            return cases.filter { Trials.isFull || $0.isFew }
        }()

        /// All formats and nearly all statuses share one piece of code. So most cases have one or two bad events, and a
        /// status has one of the two stores.
        private var isFew: Bool {
            guard answer.status % 2 == (isJSONL ? 0 : 1) || [403, 500].contains(answer.status) else { return false }
            if format == "named" { return place == .front }
            if format != "ndjson" { return bad == 2 && place == .front }
            if bad == 100 { return isJSONL == (place == .middle) && answer.status == (isJSONL ? 500 : 403) }
            return bad == (place == .middle ? 1 : 2)
        }
    }
}
