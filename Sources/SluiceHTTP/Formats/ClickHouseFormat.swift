import Sluice

/// `INSERT … FORMAT JSONEachRow` over the HTTP interface of ClickHouse.
struct ClickHouseFormat: WireFormat {
    let table: String
    let database: String
    let user: String?
    let password: String?
    /// For 18.16 to 22.1, without deduplication tokens and summaries.
    let isLegacy: Bool

    var maximumBatchSize: BatchSize { BatchSize(events: 100_000, bytes: 10_000_000) }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) {
        try ArgumentCheck.text("table", table)
        try ArgumentCheck.text("database", database)
        try ArgumentCheck.text("user", user)
        if password?.isEmpty == false { try ArgumentCheck.text("password", password) }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if isLegacy {
            let name = "\(ClickHouseFormat.quoted(database)).\(ClickHouseFormat.quoted(table))"
            request.appendQuery("query", "INSERT INTO \(name) FORMAT JSONEachRow")
        } else {
            request.appendQuery("query", "INSERT INTO {database:Identifier}.{table:Identifier} FORMAT JSONEachRow")
            request.appendQuery("param_database", database)
            request.appendQuery("param_table", table)
        }
        request.appendQuery("input_format_skip_unknown_fields", "1")
        request.appendQuery("date_time_input_format", "best_effort")
        if !isLegacy { request.appendQuery("insert_deduplication_token", batch.deduplicationToken) }
        if let user { request.setHeader("X-ClickHouse-User", user) }
        if let password { request.setHeader("X-ClickHouse-Key", password) }
        request.setHeader("Content-Type", "application/x-ndjson")
        request.body = isLegacy ? batch.lines() : try rows(of: batch)
    }

    /// The lines with a time that every version reads. From 26.8 on, a plain number in a `DateTime64` means seconds.
    private func rows(of batch: Batch) throws -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(batch.byteCount + batch.events.count * 16)
        for line in batch.events {
            guard let number = try line.fieldText("time") else {
                throw SluiceError(.malformedLine, "not a canonical event line: no time")
            }
            body += line.bytes[..<number.startIndex].withPlainDates
            body.append(UInt8(ascii: "\""))
            // 13 digits are milliseconds to all versions, in columns of integers too. Other times are long ago.
            let isPlain = number.count == 13 && number.first != UInt8(ascii: "-")
            body += isPlain ? Array(number) : Array(try line.time().description.utf8)
            body.append(UInt8(ascii: "\""))
            body += line.bytes[number.endIndex...].withPlainDates
            body.append(UInt8(ascii: "\n"))
        }
        return body
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        if let code = exceptionCode(of: response) { return .all(verdict(of: code, response)) }
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        // Only the summary confirms that rows were written. Older servers send an empty body with their name.
        let header = isLegacy ? "X-ClickHouse-Server-Display-Name" : "X-ClickHouse-Summary"
        guard response.header(header) != nil else { return .all(.unrecognized("ClickHouse")) }
        return .all(response.isComplete && response.body.isEmpty ? .accepted : .retry(after: nil))
    }

    private static func quoted(_ identifier: String) -> String {
        "`" + identifier.unicodeScalars.map { $0 == "\\" || $0 == "`" ? "\\\($0)" : "\($0)" }.joined() + "`"
    }

    /// Reads the exception's code from the header, or from a body such as `Code: 27. DB::Exception: …`, which can also
    /// follow a status 200.
    private func exceptionCode(of response: HTTPResponse) -> Int? {
        if let code = response.header("X-ClickHouse-Exception-Code").flatMap({ Int($0) }) { return code }
        let marker = Array("Code: ".utf8)
        guard response.body.starts(with: marker) else { return nil }
        let digits = response.body.dropFirst(marker.count).prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private func hasTooManyPartitions(_ response: HTTPResponse) -> Bool {
        let message = Array("Too many partitions".utf8)
        return response.body.prefix(200).indices.contains { response.body[$0...].starts(with: message) }
    }

    private func verdict(of code: Int, _ response: HTTPResponse) -> Verdict {
        switch code {
        // A value can't be parsed, or has another type than its column. One bad row fails the whole insert.
        case 6, 25, 26, 27, 38, 41, 53, 69, 70, 72, 117, 128, 130, 131, 321, 349, 376, 407, 441, 467, 469, 691:
            .split(reason: "ClickHouse could not read a row (code \(code))")
        // The table, columns, functions, database, statement, settings, disk or rights are wrong.
        case 10, 16, 36, 43, 44, 46, 47, 48, 60, 62, 73, 81, 115, 164, 192, 193, 194, 195, 243, 291, 497, 516:
            .hold(
                reason: "ClickHouse refuses every insert (code \(code)); check the table, the settings and the rights")
        // The same code means too many parts, which the server merges after some time.
        case 252 where hasTooManyPartitions(response): .tooLarge()
        // Overload, timeouts, memory, network, replicas, and unknown codes.
        default: .retry(after: response.retryAfter, reason: "ClickHouse could not insert (code \(code))")
        }
    }
}
