import Sluice

/// The line protocol of InfluxDB. The measurement of a point is the event's name, and its fields are the ids and the
/// properties.
///
/// Points with the same measurement, tags and nanosecond replace each other. So the nanoseconds within the millisecond, and
/// the tag `part`, are from the event's id. They are the same in a retry.
///
/// Sources: "Line protocol reference" and "Troubleshoot issues writing data" of docs.influxdata.com.
struct InfluxDBFormat: WireFormat {
    enum Target {
        /// `/write` of version 1.
        case database(String, user: String?, password: String?)
        /// `/api/v2/write` of version 2, 3 and the clouds.
        case bucket(String, organization: String?, token: String)
    }

    let target: Target

    var maximumBatchSize: BatchSize { BatchSize(events: 5_000, bytes: 5_000_000) }
    /// `max-body-size` of version 1.
    var maximumBodyBytes: Int { 25_000_000 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) {
        switch target {
        case .database(let name, let user, let password):
            try ArgumentCheck.text("database", name)
            try ArgumentCheck.text("user", user)
            if password?.isEmpty == false { try ArgumentCheck.text("password", password) }
        case .bucket(let name, let organization, let token):
            try ArgumentCheck.text("bucket", name)
            try ArgumentCheck.text("organization", organization)
            try ArgumentCheck.key("token", token)
        }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        switch target {
        case .database(let name, let user, let password):
            request.appendPath("write")
            request.appendQuery("db", name)
            if let user { request.setBasicAuthorization(user: user, password: password ?? "") }
        case .bucket(let name, let organization, let token):
            request.appendPath("api", "v2", "write", replacing: ["write"])
            request.appendQuery("bucket", name)
            if let organization { request.appendQuery("org", organization) }
            request.setHeader("Authorization", "Token \(token)")
        }
        request.setHeader("Content-Type", "text/plain; charset=utf-8")
        for line in batch.events { request.body += Self.point(try line.event()).utf8 }
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        .all(response.verdict(confirmedBy: 204, of: "InfluxDB"))
    }

    private static func point(_ event: Event) -> String {
        let own: [(String, String?)] = [
            ("id", event.id.description), ("distinct_id", event.distinctID), ("anonymous_id", event.anonymousID),
            ("login_id", event.loginID), ("priority", event.priority == .critical ? "critical" : nil),
        ]
        var fields = own.compactMap { name, value in value.map { "\(name)=\(quoted($0))" } }
        var names = Set(own.map(\.0)).union(["time", "part"])
        for property in event.properties where property.value != .null {
            var name = identifier(property.name, escaping: ", =")
            while !names.insert(name).inserted { name += "_" }
            fields.append("\(name)=\(field(property.value))")
        }
        let limit: Int64 = 9_223_372_036_853
        let milliseconds = min(max(event.time.milliseconds, -limit), limit)
        let time = milliseconds * 1_000_000 + Int64(event.id.low % 1_000_000)
        let part = event.id.low / 1_000_000 % 256
        return "\(identifier(event.name, escaping: ", ")),part=\(part) \(fields.joined(separator: ",")) \(time)\n"
    }

    private static func field(_ value: PropertyValue) -> String {
        switch value {
        case .int(let int): "\(int)i"
        case .double(let double): "\(double)"
        case .bool(let bool): "\(bool)"
        default: quoted(value.text)
        }
    }

    /// Newlines become `\n`, because a line of the protocol can't contain one.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A name with escapes. A backslash can't be escaped, so it becomes `_`, as control characters do. A name can't begin
    /// with `_` or `#`.
    private static func identifier(_ name: String, escaping special: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            if special.unicodeScalars.contains(scalar) { result += "\\" }
            let isUnwanted = scalar == "\\" || scalar.value < 0x20 || scalar.value == 0x7F
            result.unicodeScalars.append(isUnwanted ? "_" : scalar)
        }
        return ["_", "#", nil].contains(result.unicodeScalars.first) ? "name." + result : result
    }
}
