import Sluice

/// The line protocol of InfluxDB. The measurement of a point is the event's name, and its fields are the ids and the
/// properties.
///
/// Points with the same measurement, tags and nanosecond replace each other. So the nanoseconds within the millisecond, and
/// the tag `part`, are from the event's id. They are the same in a retry.
///
/// Sources: "Line protocol reference" and "Troubleshoot issues writing data" of docs.influxdata.com, and the answers of InfluxDB
/// 1.6.7 to points with wrong types.
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
            // "Create a bucket" of docs.influxdata.com.
            if name.hasPrefix("_") || name.utf8.contains(UInt8(ascii: "\"")) {
                throw ArgumentCheck.invalid("bucket", "isn't a name that InfluxDB accepts: use no \" and no _ in front")
            }
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
        for line in batch.events {
            let event = try line.record()
            request.body += point(event).utf8
            request.parts.append(Self.hour(of: event))
        }
    }

    /// InfluxDB names the first field whose type differs from earlier points, and counts the points that it left out. It speaks
    /// for the points of one shard only, so the others are sent again: they replace themselves.
    ///
    /// A field can have another type in another shard, which has at least an hour. So points of several hours with the named
    /// field are asked for hour by hour.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let verdict = response.verdict(confirmedBy: 204, of: "InfluxDB")
        let answer = response.jsonObject
        guard [400, 422].contains(response.status), let words = (answer?["error"] ?? answer?["message"])?.string,
            let start = words.utf8.indices.first(where: { words.utf8[$0...].starts(with: Self.conflict) }),
            let tail = words.split(separator: " ").last(where: { $0.hasPrefix("dropped=") }),
            let dropped = Int(tail.dropFirst(8))
        else { return .all(verdict) }
        let hours = batch.events.map { hour(of: $0, in: words.utf8[start...].dropFirst(Self.conflict.count)) }
        let bad = hours.compactMap(\.self)
        let isOneHour = Set(bad).count == 1
        if bad.isEmpty || isOneHour && bad.count > dropped { return .all(verdict) }
        let reason = "a field of the event has another type in InfluxDB"
        let conflict = isOneHour ? Verdict.rejected(reason: reason) : .split(reason: reason)
        return .each(hours.map { $0 == nil ? .retry(after: .zero) : conflict })
    }

    private static let conflict = "partial write: field type conflict: input field \"".utf8

    private static func hour(of event: Event) -> Int64 { event.time.milliseconds / 3_600_000 }

    /// The hour of an event that has the named field with the named type.
    private func hour(of line: EventLine, in words: Substring.UTF8View) -> Int64? {
        guard let event = line.sentRecord else { return nil }
        let place = "on measurement \"\(Self.fitted(event.name))\""
        let isNamed = fields(of: event).contains { name, value in
            let types: [Unicode.Scalar: String] = ["\"": "string", "i": "integer", "e": "boolean"]
            let type = value.unicodeScalars.last.flatMap { types[$0] } ?? "float"
            return words.starts(with: "\(name)\" \(place) is type \(type), ".utf8)
        }
        return isNamed ? Self.hour(of: event) : nil
    }

    private static let names: Set = ["", "id", "distinct_id", "anonymous_id", "login_id", "priority", "time", "part"]

    private func point(_ event: Event) -> String {
        let fields = fields(of: event).map { "\(Self.escaped($0.name, ", ="))=\($0.value)" }
        let limit: Int64 = 9_223_372_036_853
        let milliseconds = min(max(event.time.milliseconds, -limit), limit)
        let time = milliseconds * 1_000_000 + Int64(event.id.low % 1_000_000)
        let part = event.id.low / 1_000_000 % 256
        let measurement = Self.escaped(Self.fitted(event.name), ", ")
        return "\(measurement),part=\(part) \(fields.joined(separator: ",")) \(time)\n"
    }

    private func fields(of event: Event) -> [(name: String, value: String)] {
        let own: [(String, String?)] = [
            ("id", event.id.description), ("distinct_id", event.distinctID), ("anonymous_id", event.anonymousID),
            ("login_id", event.loginID), ("priority", event.priority == .critical ? "critical" : nil),
        ]
        return own.compactMap { name, value in value.map { (name, Self.quoted($0)) } }
            + event.properties.filter { $0.value != .null }.map {
                (Self.fitted($0.name, beside: Self.names), field($0.value))
            }
    }

    private func field(_ value: PropertyValue) -> String {
        switch value {
        case .int(let int): keepsIntegers ? "\(int)i" : "\(int)"
        case .double(let double): "\(double)"
        case .bool(let bool): "\(bool)"
        default: Self.quoted(value.text)
        }
    }

    private static func quoted(_ text: String) -> String { "\"" + escaped(text, "\"\\") + "\"" }

    /// A backslash can't be escaped, and a control character can't be written. A name can't begin with `_` or `#`, or be one of
    /// the format's own.
    private static func fitted(_ name: String, beside names: Set<String> = [""]) -> String {
        let isAccepted: (Unicode.Scalar) -> Bool = { $0 != "\\" && $0.value >= 0x20 && $0.value != 0x7F }
        return name.prefixed(by: "name.") { name in
            let isFirstFine = name.first.map { $0 != "_" && $0 != "#" && isAccepted($0) } ?? true
            return !isFirstFine || names.contains(String(name))
        }
        .fitted(where: isAccepted)
    }

    /// Newlines, which no name has, become `\n`, because a line of the protocol can't contain one.
    private static func escaped(_ text: String, _ special: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if special.unicodeScalars.contains(scalar) { result += "\\" }
            if scalar == "\n" { result += "\\\\n" } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }
}
