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
            var sizes: [Int] = []
            var accepted: [Int] = []
            var answersAll: Answer?
            var blip: (request: Int, answer: Answer)?
        }

        /// In turn.
        private let answers: [Answer]
        private let format: String
        private let headers: [(name: String, value: String)]
        private let state = Locked(State())

        init(
            _ answers: Answer..., format: String = "ndjson", headers: [(name: String, value: String)] = []
        ) {
            self.answers = answers
            self.headers = headers
            self.format = format
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
        var sizes: [Int] { state.withLock(\.sizes) }
        /// In the order of arrival.
        var accepted: [Int] { state.withLock(\.accepted) }

        /// The answer to one request, whatever it has.
        func answer(request: Int, with answer: Answer) { state.withLock { $0.blip = (request, answer) } }

        func answerAll(_ answer: Answer?) { state.withLock { $0.answersAll = answer } }

        private static func numbers(in body: some StringProtocol) -> [Int] {
            body.split(separator: "number-").dropFirst().compactMap { Int($0.prefix { $0.isNumber }) }
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let body = String(decoding: request.body, as: UTF8.self)
            let numbers = Self.numbers(in: body)
            return try state.withLock { state in
                state.requests += 1
                state.sizes.append(numbers.count)
                let own = body.contains("poison") ? answers[state.requests % answers.count] : nil
                let blip = state.blip.flatMap { $0.request == state.requests ? $0.answer : nil }
                guard let answer = state.answersAll ?? blip ?? own else {
                    state.accepted += numbers
                    return HTTPResponse(status: 200, body: Array(success(of: body).utf8))
                }
                switch answer {
                case .status(let status):
                    return HTTPResponse(status: status, headers: headers, body: Array("rule 942100 says no".utf8))
                case .page: return HTTPResponse(status: 200, body: Array("<html>rule 942100 says no</html>".utf8))
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
