public import Sluice

/// `/import` of Mixpanel, in its strict form: each event that it refuses is named in the answer.
///
/// The event's id is the `$insert_id`, by which Mixpanel knows a retry, together with name, time and person.
public struct MixpanelFormat: WireFormat {
    private let user: Secret
    private let password: Secret
    private let project: String?
    private static let names: Set<String> = ["time", "distinct_id", "$insert_id", "$device_id", "$user_id"]

    /// - Parameter token: that of the project.
    public init(token: String) {
        user = Secret(token)
        password = Secret("")
        project = nil
    }

    /// - Parameters:
    ///   - project: the id of the project.
    ///   - user: the name of a service account.
    ///   - secret: that of the account.
    public init(project: String, user: String, secret: String) {
        self.user = Secret(user)
        self.password = Secret(secret)
        self.project = project
    }

    public var maximumBatchSize: BatchSize { BatchSize(events: 2_000, bytes: 5_000_000) }
    public var maximumBodyBytes: Int { 10_000_000 }
    public var acceptsGzip: Bool { true }

    public func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("import")
        request.appendQuery("strict", "1")
        if let project { request.appendQuery("project_id", project) }
        request.setBasicAuthorization(user: user.text, password: password.text)
        request.setHeader("Content-Type", "application/json")
        var writer = batch.makeWriter()
        writer.raw("[")
        try writer.list(batch.events) { (writer, line) throws(SluiceError) in
            MixpanelFormat.write(try line.event(), to: &writer)
        }
        writer.raw("]")
        request.body = writer.bytes
    }

    public func classify(_ answer: HTTPAnswer, _ batch: Batch) -> Verdicts {
        let count = batch.events.count
        switch answer.status {
        case 200...299:
            return .all(answer.jsonObject?["code"] == 200 ? .accepted : .retry(after: nil))
        case 400:
            // The others were taken in.
            let records = answer.jsonObject?["failed_records"]?.asArray
            let indices = records.map { $0.map { $0.asObject?["index"] ?? .null } }
            guard let indices, !indices.isEmpty,
                let refused = PropertyValue.array(PropertyArray(indices)).eventIndices(below: count)
            else { return .all(answer.verdict) }
            return .weighing(
                (0..<count).map { refused.contains($0) ? .refused("Mixpanel refused the event") : .accepted })
        default: return .all(answer.verdict)
        }
    }

    private static func write(_ event: Event, to writer: inout JSONWriter) {
        writer.raw(#"{"event":"#)
        writer.string(event.name)
        writer.raw(#","properties":{"time":"#)
        writer.integer(event.time.milliseconds)
        writer.raw(#","distinct_id":"#)
        writer.string(event.anyDistinctID)
        writer.raw(#","$insert_id":"#)
        writer.string(event.id.description)
        writer.optionalString("$device_id", event.anonymousID)
        writer.optionalString("$user_id", event.loginID)
        writer.pairs(event.properties, beside: names)
        writer.raw("}}")
    }
}

extension WireFormat where Self == MixpanelFormat {
    /// Events for Mixpanel, by the project's token. The URL is `https://api.mixpanel.com`, or that of the EU or India.
    public static func mixpanel(token: String) -> MixpanelFormat { MixpanelFormat(token: token) }

    /// The same by a service account. All parameters are those of ``MixpanelFormat/init(project:user:secret:)``.
    public static func mixpanel(project: String, user: String, secret: String) -> MixpanelFormat {
        MixpanelFormat(project: project, user: user, secret: secret)
    }
}
