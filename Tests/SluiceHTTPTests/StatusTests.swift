import HTTPTestSupport
import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Verdicts by status", .serialized)
struct StatusTests {
    static let table: [(Int, Fate)] = [
        (200, .accepted), (201, .accepted), (202, .accepted), (204, .accepted), (206, .accepted), (207, .accepted),
        (299, .accepted),
        (300, .hold), (301, .hold), (302, .hold), (303, .hold), (304, .hold), (307, .hold), (308, .hold), (399, .hold),
        (400, .refused), (422, .refused),
        (401, .hold), (402, .hold), (403, .hold), (404, .hold), (405, .hold), (406, .hold), (407, .hold), (409, .hold),
        (410, .hold), (411, .hold), (414, .hold), (415, .hold), (418, .hold), (431, .hold), (451, .hold), (499, .hold),
        (408, .retry), (425, .retry), (429, .retry),
        (413, .tooLarge),
        (500, .retry), (501, .retry), (502, .retry), (503, .retry), (504, .retry), (507, .retry), (511, .retry),
        (599, .retry), (600, .retry), (799, .retry), (999, .retry),
    ]

    @Test("each status has its verdict", arguments: table)
    func statusHasVerdict(status: Int, fate: Fate) async throws {
        // Without body: 204 and 304 can't have one.
        let server = try Server(responding: "HTTP/1.1 \(status) Some Reason\r\nContent-Length: 0\r\n\r\n")
        let verdicts = try await openTransport(to: server.url).send(.small)
        #expect(verdicts.fates(of: 1) == [fate])
        #expect(server.received.all.count == 1)
    }

    @Test("every status has a verdict that rejects no event, and an invalid one is retried")
    func noStatusRejects() {
        for status in [Int.min, -1] + Array(0...1_000) + [.max] {
            let verdict = HTTPResponse(status: status).verdict
            #expect(![.rejected, .unsendable, .duplicate].contains(Fate(verdict)))
            #expect((verdict == .accepted) == (200...299).contains(status))
            #expect((200...599).contains(status) || verdict == .retry(after: nil), "\(status)")
        }
    }

    @Test(
        "a verdict's text contains nothing of the URL, the headers or the response",
        arguments: [302, 400, 401, 404, 415])
    func verdictTextHasNoSecrets(status: Int) async throws {
        let server = try Server(
            responding: "HTTP/1.1 \(status) secret\r\nLocation: secret\r\nContent-Length: 6\r\n\r\nsecret")
        let transport = try openTransport(to: server.url + "?secret", headers: ["Authorization": "secret"])
        let verdicts = try await transport.send(.of(#"{"event":"secret"}"#))
        #expect(!"\(verdicts)".contains("secret"))
        #expect("\(verdicts)".contains("\(status)"))
    }
}
