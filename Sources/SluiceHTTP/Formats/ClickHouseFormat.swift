public import Sluice

/// `INSERT … FORMAT JSONEachRow` over the HTTP interface of ClickHouse.
///
/// A row is the store's line as it is, so a table has columns named as its keys: `id`, `event`, `time` (milliseconds, fit
/// for `DateTime64(3)`), `distinct_id`, `properties` and so on; keys without a column are skipped. The same events carry
/// the same deduplication token in every retry. Settings, such as `async_insert`, go into the URL's query.
public struct ClickHouseFormat: WireFormat {
    /// What the server at the other end understands.
    public enum Server: Sendable, Hashable {
        /// 22.2 or later: it is given a token of the batch, by which it can know a retry, and says how much it has written.
        case current
        /// 18.16, which is Debian 12's, or later: it knows no tokens, so doubles are for the table's engine or a query to
        /// drop; and an empty answer with the server's name has to do as its word.
        case legacy
    }

    private let table: String
    private let database: String
    private let user: String?
    private let password: Secret?
    private let server: Server

    /// - Parameters:
    ///   - table: its name, without that of the database.
    ///   - database: its name.
    ///   - user: nil for the server's default user, or if headers or a signature log in.
    ///   - password: the user's.
    ///   - server: what the server understands; one older than it is said to be refuses every insert, which holds the route.
    public init(
        table: String, database: String = "default", user: String? = nil, password: String? = nil,
        server: Server = .current
    ) {
        self.table = table
        self.database = database
        self.user = user
        self.password = password.map { Secret($0) }
        self.server = server
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 100_000, bytes: 10_000_000) }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) {
        switch server {
        case .current:
            request.appendQuery("query", "INSERT INTO {database:Identifier}.{table:Identifier} FORMAT JSONEachRow")
            request.appendQuery("param_database", database)
            request.appendQuery("param_table", table)
        case .legacy:
            let name = "\(ClickHouseFormat.quoted(database)).\(ClickHouseFormat.quoted(table))"
            request.appendQuery("query", "INSERT INTO \(name) FORMAT JSONEachRow")
        }
        request.appendQuery("input_format_skip_unknown_fields", "1")
        request.appendQuery("date_time_input_format", "best_effort")
        let body = NDJSONFormat.lines(of: batch)
        if server == .current {
            let firstID = batch.events.first?.id?.description ?? "batch"
            request.appendQuery("insert_deduplication_token", firstID + "-" + String(body.fnv1a, radix: 16))
        }
        if let user { request.setHeader("X-ClickHouse-User", user) }
        if let password { request.setHeader("X-ClickHouse-Key", password.text) }
        request.setHeader("Content-Type", "application/x-ndjson")
        request.body = body
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        if let code = exceptionCode(of: answer) { return .all(verdict(of: code, answer)) }
        guard (200...299).contains(answer.status) else { return .all(answer.verdict) }
        return .all(verdict(ofSuccess: answer))
    }

    private func verdict(ofSuccess answer: HTTPAnswer) -> Verdict {
        switch server {
        // Only the summary says that rows were written.
        case .current where answer.header("X-ClickHouse-Summary") != nil: .accepted
        case .legacy where answer.header("X-ClickHouse-Server-Display-Name") != nil:
            answer.isWhole && answer.body.isEmpty ? .accepted : .retry(after: nil)
        case .current, .legacy: HTTPAnswer.foreign("ClickHouse")
        }
    }

    private static func quoted(_ identifier: String) -> String {
        "`" + identifier.replacing("\\", with: "\\\\").replacing("`", with: "\\`") + "`"
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
        case 6, 26, 27, 38, 41, 53, 69, 70, 72, 117, 131, 349, 376, 469, 691:
            .split(.refused("ClickHouse could not read a row (code \(code))"))
        // Table, columns, database, statement, settings, rights.
        case 16, 60, 62, 81, 115, 164, 192, 193, 194, 497, 516:
            .hold("ClickHouse refuses the insert, whatever its rows (code \(code))")
        // Overload, time, memory, network, replicas; and codes that nobody here knows.
        default: .retry(after: answer.retryAfter, reason: "ClickHouse could not insert (code \(code))")
        }
    }
}

extension WireFormat where Self == ClickHouseFormat {
    /// Rows for a table of ClickHouse. All parameters are those of
    /// ``ClickHouseFormat/init(table:database:user:password:server:)``.
    public static func clickHouse(
        table: String, database: String = "default", user: String? = nil, password: String? = nil,
        server: ClickHouseFormat.Server = .current
    ) -> ClickHouseFormat {
        ClickHouseFormat(table: table, database: database, user: user, password: password, server: server)
    }
}
