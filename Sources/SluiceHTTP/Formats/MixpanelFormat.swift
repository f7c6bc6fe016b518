import Sluice

/// The strict form of Mixpanel's `/import`, which lists the refused events. The event's id is the `$insert_id`.
struct MixpanelFormat: WireFormat {
    let user: String
    let password: String
    let project: String?
    private static let names: Set<String> = ["time", "distinct_id", "$insert_id", "$device_id", "$user_id"]

    init(user: String, password: String, project: String?) {
        self.user = user
        self.password = password
        self.project = project
    }

    var maximumBatchSize: BatchSize { BatchSize(events: 2_000, bytes: 5_000_000) }
    var maximumBodyBytes: Int { 10_000_000 }
    var acceptsGzip: Bool { true }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("import")
        request.appendQuery("strict", "1")
        if let project { request.appendQuery("project_id", project) }
        request.setBasicAuthorization(user: user, password: password)
        var writer = batch.makeWriter()
        writer.raw("[")
        try writer.events(of: batch, Self.write)
        writer.raw("]")
        request.setJSON(writer)
    }

    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let count = batch.events.count
        switch response.status {
        case 200...299:
            return .all(response.jsonObject?["code"] == 200 ? .accepted : .retry(after: nil))
        case 400:
            let records = response.jsonObject?["failed_records"]?.asArray
            let indices = records.map { $0.compactMap { $0.asObject?["index"] } } ?? []
            guard !indices.isEmpty, indices.count == records?.count,
                indices.allSatisfy({ if case .int(0..<Int64(count)) = $0 { true } else { false } })
            else { return .all(response.verdict) }
            let failed = (0..<count).map { indices.contains(.int(Int64($0))) }
            let restCount = failed.count { !$0 }
            // The other events were accepted only if Mixpanel counts them. Otherwise they are sent again without these.
            let isAccepted = response.jsonObject?["num_records_imported"]?.asInt == restCount
            let rest: Verdict = isAccepted ? .accepted : .retry(after: .zero)
            return .each(failed.map { $0 ? .rejected("Mixpanel refused the event") : rest })
        default: return .all(response.verdict)
        }
    }

    private static func write(_ writer: inout JSONWriter, _ event: Event) {
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
        for property in event.properties {
            writer.raw(",")
            writer.string(property.outerName(beside: names))
            writer.raw(":")
            writer.value(property.value)
        }
        writer.raw("}}")
    }
}
