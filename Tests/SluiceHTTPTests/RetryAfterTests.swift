import Sluice
import Testing

@testable import SluiceHTTP

@Suite("Retry-After", .serialized)
struct RetryAfterTests {
    static let table: [(String, Duration?)] = [
        ("0", .zero), ("1", .seconds(1)), ("120", .seconds(120)), ("  7\t", .seconds(7)), ("007", .seconds(7)),
        ("3600", .seconds(3_600)), ("3601", .seconds(3_600)), ("99999999999999999999999999", .seconds(3_600)),
        ("", nil), ("-1", nil), ("+1", nil), ("1.5", nil), ("0x10", nil), ("1e3", nil), ("soon", nil), ("1 s", nil),
        ("١٢", nil), ("120, 240", nil), ("GMT", nil), (",", nil), ("- - -", nil),
        // The server's clock is the Date below.
        ("Sun, 06 Nov 1994 08:49:37 GMT", .zero), ("Sun, 06 Nov 1994 08:50:07 GMT", .seconds(30)),
        ("Sunday, 06-Nov-94 08:50:07 GMT", .seconds(30)), ("Sun Nov  6 08:50:07 1994", .seconds(30)),
        ("Sun, 06 Nov 1994 08:49:07 GMT", .zero), ("Thu, 01 Jan 1970 00:00:00 GMT", .zero),
        ("Sun, 06 Nov 1994 09:49:37 GMT", .seconds(3_600)), ("Fri, 31 Dec 9999 23:59:59 GMT", .seconds(3_600)),
        ("Sun, 06 Nov 1994 08:49:37 PST", nil), ("Sun, 31 Feb 1995 08:49:37 GMT", nil),
        ("Sun, 06 Nov 1994 25:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
    ]

    @Test("seconds and dates are read, invalid texts are ignored", arguments: table)
    func headerIsParsed(text: String, expected: Duration?) {
        let lines = ["date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "retry-after:\(text)\r\n"]
        let response = HTTPResponse(status: 503, headers: lines.compactMap { HTTPResponse.header(in: Array($0.utf8)) })
        #expect(response.verdict == .retry(after: expected))
    }

    @Test(
        "every retried status uses it, and no other one",
        arguments: [408, 425, 429, 500, 502, 503, 504].map { ($0, true) } + [200, 302, 401, 413].map { ($0, false) })
    func retriedStatusesUseHeader(status: Int, isUsed: Bool) {
        let response = HTTPResponse(status: status, headers: [("RETRY-AFTER", "5")])
        #expect((response.verdict == .retry(after: .seconds(5))) == isUsed)
        #expect(response.retryAfter == .seconds(5))
    }

    @Test("a date without the server's own is compared with this system's clock")
    func dateWithoutServerClockUsesOwn() throws {
        let now = try #require(Timestamp("1994-11-06T08:49:37.000Z"))
        let response = HTTPResponse(status: 503, headers: [("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT")])
        #expect(response.retryAfter(now: now) == .seconds(10))
        let withNonsense = HTTPResponse(
            status: 503, headers: [("Date", "today"), ("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT")])
        #expect(withNonsense.retryAfter(now: now) == .seconds(10))
    }

    @Test("the largest X-RateLimit-Reset is an hour, also beside a date before 1970")
    func largestResetIsAnHour() {
        let response = HTTPResponse(
            status: 429,
            headers: [("Date", "Tue, 06 Nov 1900 08:49:37 GMT"), ("X-RateLimit-Reset", "\(Int64.max)")])
        #expect(response.rateLimitReset() == .seconds(3_600))
    }

    static let dates: [(String, String?)] = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"),
        ("sun, 6 nov 1994 08:49:37 gmt", "1994-11-06T08:49:37.000Z"),
        ("Monday, 01-Jan-69 00:00:00 GMT", "2069-01-01T00:00:00.000Z"),
        ("Thursday, 01-Jan-70 00:00:00 GMT", "1970-01-01T00:00:00.000Z"),
        ("Thu, 29 Feb 2024 00:00:00 GMT", "2024-02-29T00:00:00.000Z"),
        ("Sat, 31 Dec 2016 23:59:60 GMT", "2016-12-31T23:59:59.000Z"),
        ("Wed, 29 Feb 2023 00:00:00 GMT", nil), ("Sun, 00 Nov 1994 08:49:37 GMT", nil),
        ("Sun, 06 Nix 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 24:00:00 GMT", nil),
        ("Sun, 06 Nov 1994 08:60:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:61 GMT", nil),
        ("Sun, 06 Nov 1994 8:49:37 GMT", nil), ("Sun, 06 Nov 94 08:49:37 +0100", nil),
        ("1994-11-06T08:49:37Z", nil), ("Sun", nil), ("", nil), (" ", nil),
        (String(repeating: "Sun, ", count: 9), nil), ("Sun, 06 Nov 1994 08:49:37 GMT, and more", nil),
    ]

    @Test("the three forms of dates are read", arguments: dates)
    func threeFormsOfDatesAreRead(text: String, expected: String?) {
        #expect(Timestamp(httpDate: text)?.description == expected)
    }
}
