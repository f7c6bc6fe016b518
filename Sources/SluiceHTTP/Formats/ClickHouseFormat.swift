public import Sluice

/// `INSERT … FORMAT JSONEachRow` over the HTTP interface of ClickHouse 21.12 or later.
///
/// A row is the store's line as it is, so a table has columns named as its keys: `id`, `event`, `time` (milliseconds, fit
/// for `DateTime64(3)`), `distinct_id`, `properties` and so on; keys without a column are skipped. The same events carry
/// the same deduplication token in every retry. Settings, such as `async_insert`, go into the URL's query.
public struct ClickHouseFormat: WireFormat {
    private let table: String
    private let database: String
    private let user: String?
    private let password: Secret?

    /// - Parameters:
    ///   - table: its name, without that of the database.
    ///   - database: its name.
    ///   - user: nil for the server's default user, or if headers or a signature log in.
    ///   - password: the user's.
    public init(table: String, database: String = "default", user: String? = nil, password: String? = nil) {
        self.table = table
        self.database = database
        self.user = user
        self.password = password.map { Secret($0) }
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 100_000, bytes: 10_000_000) }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) {
        request.appendQuery("query", "INSERT INTO {database:Identifier}.{table:Identifier} FORMAT JSONEachRow")
        request.appendQuery("param_database", database)
        request.appendQuery("param_table", table)
        request.appendQuery("input_format_skip_unknown_fields", "1")
        request.appendQuery("date_time_input_format", "best_effort")
        let body = NDJSONFormat.lines(of: batch)
        let firstID = batch.events.first?.id?.description ?? "batch"
        request.appendQuery("insert_deduplication_token", firstID + "-" + String(body.fnv1a, radix: 16))
        if let user { request.setHeader("X-ClickHouse-User", user) }
        if let password { request.setHeader("X-ClickHouse-Key", password.text) }
        request.setHeader("Content-Type", "application/x-ndjson")
        request.body = body
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        if let code = exceptionCode(of: answer) { return .all(verdict(of: code, answer)) }
        guard (200...299).contains(answer.status) else { return .all(answer.verdict) }
        // Only the summary says that rows were written.
        return .all(answer.header("X-ClickHouse-Summary") == nil ? HTTPAnswer.foreign("ClickHouse") : .accepted)
    }

    /// From the header, or from a text such as `Code: 27. DB::Exception: …`, which can also come behind a status 200.
    private func exceptionCode(of answer: HTTPAnswer) -> Int? {
        if let code = answer.header("X-ClickHouse-Exception-Code").flatMap({ Int($0) }) { return code }
        let marker = Array("Code: ".utf8)
        guard answer.body.starts(with: marker) else { return nil }
        let digits = answer.body.dropFirst(marker.count).prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private func verdict(of code: Int, _ answer: HTTPAnswer) -> Verdict {
        switch code {
        // Of a value that cannot be parsed, or is none of its column's type: one bad row fails the whole insert.
        case 6, 26, 27, 38, 41, 53, 69, 70, 72, 117, 349, 376:
            .split(.refused("ClickHouse could not read a row (code \(code))"))
        // Table, columns, database, statement, rights.
        case 16, 60, 62, 81, 164, 192, 193, 194, 497, 516:
            .hold("ClickHouse refuses the insert, whatever its rows (code \(code))")
        // Overload, time, memory, network, replicas; and codes that nobody here knows.
        default: .retry(after: answer.retryAfter)
        }
    }
}

extension WireFormat where Self == ClickHouseFormat {
    /// Rows for a table of ClickHouse. All parameters are those of
    /// ``ClickHouseFormat/init(table:database:user:password:)``.
    public static func clickHouse(
        table: String, database: String = "default", user: String? = nil, password: String? = nil
    ) -> ClickHouseFormat {
        ClickHouseFormat(table: table, database: database, user: user, password: password)
    }
}
