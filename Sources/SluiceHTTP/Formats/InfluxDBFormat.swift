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
    /// Whether integers are InfluxDB's integers. Otherwise they are floats, so a property can have both.
    let keepsIntegers: Bool

    var maximumBatchSize: BatchSize { BatchSize(events: 5_000, bytes: 5_000_000) }
    /// `max-body-size` of version 1.
    var maximumBodyBytes: Int { 25_000_000 }
    var acceptsGzip: Bool { true }

    func validate() throws(SluiceError) {
        switch target {
        case .database(let name, let user, let password):
            try ArgumentCheck.text("database", name)
            try ArgumentCheck.user("user", user)
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
        for line in batch.events { request.body += point(try line.record()).utf8 }
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        .all(response.verdict(confirmedBy: 204, of: "InfluxDB"))
    }

    private static let names: Set = [
        "", "id", "distinct_id", "anonymous_id", "login_id", "priority", "time", "part",
    ]

    private func point(_ event: Event) -> String {
        let own: [(String, String?)] = [
            ("id", event.id.description), ("distinct_id", event.distinctID), ("anonymous_id", event.anonymousID),
            ("login_id", event.loginID), ("priority", event.priority == .critical ? "critical" : nil),
        ]
        var fields = own.compactMap { name, value in value.map { "\(name)=\(Self.quoted($0))" } }
        for property in event.properties where property.value != .null {
            let name = Self.identifier(property.name, escaping: ", =", beside: Self.names)
            fields.append("\(name)=\(field(property.value))")
        }
        let limit: Int64 = 9_223_372_036_853
        let milliseconds = min(max(event.time.milliseconds, -limit), limit)
        let time = milliseconds * 1_000_000 + Int64(event.id.low % 1_000_000)
        let part = event.id.low / 1_000_000 % 256
        return "\(Self.identifier(event.name, escaping: ", ")),part=\(part) \(fields.joined(separator: ",")) \(time)\n"
    }

    private func field(_ value: PropertyValue) -> String {
        switch value {
        case .int(let int): keepsIntegers ? "\(int)i" : "\(int)"
        case .double(let double): "\(double)"
        case .bool(let bool): "\(bool)"
        default: Self.quoted(value.text)
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

    /// A name with escapes. A backslash can't be escaped, and a control character can't be written. A name can't begin with
    /// `_` or `#`, or be one of the format's own.
    private static func identifier(_ name: String, escaping special: String, beside names: Set<String> = [""]) -> String
    {
        let isAccepted: (Unicode.Scalar) -> Bool = { $0 != "\\" && $0.value >= 0x20 && $0.value != 0x7F }
        let fitted = name.prefixed(by: "name.") { name in
            let isFirstFine = name.first.map { $0 != "_" && $0 != "#" && isAccepted($0) } ?? true
            return !isFirstFine || names.contains(String(name))
        }
        .fitted(where: isAccepted)
        var result = ""
        for scalar in fitted.unicodeScalars {
            if special.unicodeScalars.contains(scalar) { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
