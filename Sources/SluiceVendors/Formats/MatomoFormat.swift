import SluiceHTTP

/// Bulk requests of Matomo's Tracking HTTP API: the parameters of each event as a query.
///
/// Sources: "Tracking HTTP API" of developer.matomo.org, and the plugin BulkTracking for the response.
struct MatomoFormat: WireFormat {
    let site: String
    let token: String
    let dimensions: [String: Int]

    /// As many as Matomo's own log importer sends.
    var maximumBatchSize: BatchSize { BatchSize(events: 200, bytes: 1_000_000) }
    /// PHP's usual `post_max_size`.
    var maximumBodyBytes: Int { 8_000_000 }

    func validate() throws(SluiceError) {
        try ArgumentCheck.number("site", site)
        try ArgumentCheck.key("token", token)
        for name in dimensions.keys { try ArgumentCheck.text("dimensions", name) }
        guard dimensions.values.allSatisfy({ $0 > 0 }), Set(dimensions.values).count == dimensions.count else {
            throw ArgumentCheck.invalid("dimensions", "has an id below 1, or one twice: pass the ids that Matomo shows")
        }
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        if !request.hasPath(endingWith: "piwik.php") { request.appendPath("matomo.php") }
        try request.setJSONObject(for: batch) {
            try $0.array("requests", batch.events) { $0.string(query(for: try $1.vendorRecord())) }
            $0["token_auth"] = token
        }
    }

    /// Matomo names the invalid events to superusers only. For other tokens, as many of the last events are rejected,
    /// because a repeated event would count twice.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        guard (200...299).contains(response.status) else { return .all(response.verdict) }
        let count = batch.events.count
        guard let answer = response.jsonObject, answer["status"] == "success",
            let tracked = answer["tracked"]?.asInt, let invalid = answer["invalid"]?.asInt,
            tracked >= 0, invalid >= 0, tracked.addingReportingOverflow(invalid) == (count, false)
        else { return .all(.retry(after: nil)) }
        if invalid == 0 { return .all(.accepted) }
        if tracked == 0 { return .all(.split(reason: "Matomo refused the events; check the site")) }
        let named = answer["invalid_indices"]?.eventIndices(below: count) ?? []
        let refused = named.count == invalid ? named : Set(tracked..<count)
        let refusal = Verdict.rejected(reason: "Matomo refused the event")
        return .each(batch.events.indices.map { refused.contains($0) ? refusal : .accepted })
    }

    private func query(for event: Event) -> String {
        // 16 hexadecimal digits.
        let hash = String(FNV1a((event.deviceID ?? event.anyDistinctID).utf8).value, radix: 16)
        let visitor = String(repeating: "0", count: 16 - hash.count) + hash
        var parameters: [(String, String?)] = [
            ("idsite", site), ("rec", "1"), ("apiv", "1"), ("rand", event.id.description),
            ("cdt", String(max(event.time.milliseconds, 0) / 1_000)),
            ("_id", visitor), ("uid", event.userID), ("lang", event.properties["$locale"]?.string),
        ]
        switch Verb(event) {
        case .screen(let name):
            let app = event.properties["$app_id"]?.string ?? "app"
            parameters += [("action_name", name), ("url", "http://\(app.percentEncoded)/\(name.percentEncoded)")]
        case .revenue(let revenue):
            parameters += [
                ("idgoal", "0"), ("ec_id", revenue.orderID(of: event).text), ("revenue", "\(revenue.amount)"),
            ]
            if let product = revenue.productID {
                let item: PropertyValue = [
                    .string(product), "", "", .double(revenue.price ?? 0), .int(Int64(revenue.quantity)),
                ]
                parameters.append(("ec_items", PropertyValue.array([item]).text))
            }
        default:
            let value = event.properties["value"].flatMap { $0.double == nil ? nil : $0.text }
            parameters += [("e_c", "app"), ("e_a", event.name), ("e_v", value)]
        }
        for (name, id) in dimensions.sorted(by: { $0.value < $1.value }) {
            parameters.append(("dimension\(id)", event.properties[name].flatMap { $0 == .null ? nil : $0.text }))
        }
        let pairs = parameters.compactMap { name, value in value.map { "\(name)=\($0.percentEncoded)" } }
        return "?" + pairs.joined(separator: "&")
    }
}
