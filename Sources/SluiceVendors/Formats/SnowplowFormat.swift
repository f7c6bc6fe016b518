import SluiceHTTP

/// `/com.snowplowanalytics.snowplow/tp2` of Snowplow's collector: self-describing events in a `payload_data`.
///
/// Sources: "Snowplow event specification" and "Example tracker HTTP request headers" of docs.snowplow.io, and the schemas
/// of iglucentral.com.
struct SnowplowFormat: WireFormat {
    let appID: String
    let vendor: String

    private static let snowplow = "iglu:com.snowplowanalytics.snowplow"

    var maximumBatchSize: BatchSize { BatchSize(events: 500, bytes: 500_000) }
    var maximumBodyBytes: Int { 1_000_000 }

    func validate() throws(SluiceError) {
        try ArgumentCheck.text("appID", appID)
        try ArgumentCheck.name("vendor", vendor)
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("com.snowplowanalytics.snowplow", "tp2")
        let sendTime = String(request.sendTime.milliseconds)
        try request.setJSONObject(for: batch) {
            $0["schema"] = Self.snowplow + "/payload_data/jsonschema/1-0-4"
            try $0.objects("data", batch.events) {
                write(try $1.vendorRecord(), to: &$0)
                $0["stm"] = sendTime
            }
        }
    }

    /// The collector confirms with 200 and `ok`.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let isConfirmed = response.isComplete && (response.body.isEmpty || response.body.elementsEqual("ok".utf8))
        if response.status / 100 == 2, !isConfirmed { return .all(.unrecognized("Snowplow")) }
        return .all(response.verdict(confirmedBy: 200, of: "Snowplow"))
    }

    /// Every value is a string.
    private func write(_ event: Event, to json: inout JSONWriter) {
        json["e"] = "ue"
        json["eid"] = event.id.description
        json["aid"] = appID
        json["p"] = HTTPFormat.runsOnDevice ? "mob" : "srv"
        json["tv"] = "sluice-" + LibraryVersion.current
        json["dtm"] = String(event.time.milliseconds)
        json["uid"] = event.userID
        json["duid"] = event.anonymousID
        json["lang"] = event.properties["$locale"]?.string
        json["tz"] = event.properties["$timezone"]?.string
        var properties = event.properties
        var schema = "iglu:\(vendor)/\(Self.schemaName(event.name))/jsonschema/1-0-0"
        if case .screen(let name) = Verb(event) {
            schema = "iglu:com.snowplowanalytics.mobile/screen_view/jsonschema/1-0-0"
            properties = ["id": .string(event.id.description), "name": .string(name)]
        }
        var wrapped = JSONWriter()
        wrapped.object {
            $0["schema"] = Self.snowplow + "/unstruct_event/jsonschema/1-0-0"
            $0.object("data") {
                $0["schema"] = schema
                $0.object("data", properties)
            }
        }
        json["ue_pr"] = String(decoding: wrapped.bytes, as: UTF8.self)
    }

    /// A name that Iglu accepts: ASCII letters, digits, `-` and `_`.
    private static func schemaName(_ name: String) -> String {
        name.withoutDollar(if: \.isEmpty)
            .fitted { $0 == "-" || $0 == "_" || $0.isASCII && ($0.properties.isAlphabetic || "0"..."9" ~= $0) }
    }
}
