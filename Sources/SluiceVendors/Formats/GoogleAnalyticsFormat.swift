import SluiceHTTP

/// `/mp/collect` of Google Analytics 4, the Measurement Protocol for web streams. A request has the events of one person.
///
/// Google confirms every request, and drops silently the parts that break its rules. So names and values are made to fit.
///
/// Sources: "Measurement Protocol" of developers.google.com/analytics, and "Event collection limits" of its help.
struct GoogleAnalyticsFormat: WireFormat {
    let measurementID: String
    let apiSecret: String

    var maximumBatchSize: BatchSize { BatchSize(events: 25, bytes: 100_000) }
    var maximumBodyBytes: Int { 130_000 }

    func validate() throws(SluiceError) {
        try ArgumentCheck.key("measurementID", measurementID)
        // Google confirms a wrong one too.
        let rest = measurementID.utf8.dropFirst(2)
        let isAccepted = rest.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        guard measurementID.hasPrefix("G-"), !rest.isEmpty, isAccepted else {
            throw ArgumentCheck.invalid("measurementID", "isn't that of a web stream: pass the one that begins with G-")
        }
        try ArgumentCheck.key("apiSecret", apiSecret)
    }

    func endpoints(for line: EventLine) throws -> [String] {
        let event = try line.vendorRecord()
        return ["\0" + Self.client(of: event) + "\0" + (event.userID ?? "")]
    }

    func encode(_ batch: Batch, into request: inout HTTPRequest) throws {
        request.appendPath("mp", "collect", replacing: ["g/collect"])
        request.appendQuery("measurement_id", measurementID)
        request.appendQuery("api_secret", apiSecret)
        let events = try batch.events.map { try $0.vendorRecord() }
        let person = events.reduce(into: Properties()) { $0.merge(Verb($1).traits(of: $1)) }
        request.setJSONObject(for: batch) {
            $0["client_id"] = events.first.map { Self.client(of: $0) }
            $0["user_id"] = events.first?.userID
            let properties = GoogleNames.fit(person, [:], as: .userProperty, value: 36)
            if !properties.isEmpty {
                $0.object("user_properties", Properties(properties.map { ($0.name, ["value": $0.value]) }))
            }
            $0.objects("events", events) { Self.write($1, to: &$0) }
        }
    }

    /// Google's response is empty. That of its validation server isn't, and accepts nothing.
    func verdicts(for batch: Batch, from response: HTTPResponse) -> Verdicts {
        let isEmpty = response.body.isEmpty && response.isComplete
        return .all(response.status / 100 == 2 && !isEmpty ? .unrecognized("Google Analytics") : response.verdict)
    }

    private static func client(of event: Event) -> String { event.deviceID ?? event.anyDistinctID }

    private static func write(_ event: Event, to json: inout JSONWriter) {
        var parameters: Properties = ["event_id": .string(event.id.description), "engagement_time_msec": 1]
        parameters["session_id"] = event.sessionStart.map { .string(String($0.milliseconds / 1_000)) }
        var name = event.name
        var rest = event.properties
        switch Verb(event) {
        case .signUp, .switchUser: name = "login"
        case .group(_, let id, _):
            name = "join_group"
            parameters["group_id"] = .string(id)
            if rest["group_id"] == nil { rest["$group_key"] = nil }
        case .screen(let screen):
            name = "screen_view"
            parameters["screen_name"] = .string(screen)
            if rest["screen_name"] == nil { rest["$screen_name"] = nil }
        case .revenue(let revenue):
            name = revenue.amount < 0 ? "refund" : "purchase"
            parameters["transaction_id"] = .string(event.id.description)
            parameters["value"] = .double(abs(revenue.amount))
            parameters["currency"] = revenue.currencyCode.map { .string($0) }
            if let id = revenue.productID {
                let (price, quantity) = (abs(revenue.price ?? 0), Int64(revenue.quantity))
                parameters["items"] = [["item_id": .string(id), "price": .double(price), "quantity": .int(quantity)]]
            }
            rest = revenue.properties
        default: break
        }
        json["name"] = GoogleNames.fit(name, as: .event)
        json["timestamp_micros"] = .int(event.time.milliseconds * 1_000)
        json.object("params", GoogleNames.fit(rest, parameters, as: .parameter, value: 100))
    }
}

/// Google's rules for names: letters and digits of all scripts and `_`, a letter first, and none of its own.
private enum GoogleNames {
    enum Kind {
        case event, parameter, userProperty

        var length: Int { self == .userProperty ? 24 : 40 }
    }

    private static let reserved: [Kind: Set<String>] = [
        .event: [
            "ad_activeview", "ad_click", "ad_exposure", "ad_query", "ad_reward", "adunit_exposure", "app_background",
            "app_clear_data", "app_exception", "app_remove", "app_store_refund", "app_store_subscription_cancel",
            "app_store_subscription_convert", "app_store_subscription_renew", "app_update", "app_upgrade",
            "dynamic_link_app_open", "dynamic_link_app_update", "dynamic_link_first_open", "error", "firebase_campaign",
            "first_open", "first_visit", "in_app_purchase", "notification_dismiss", "notification_foreground",
            "notification_open", "notification_receive", "notification_send", "os_update", "session_start",
            "user_engagement",
        ],
        .userProperty: [
            "first_open_after_install", "first_open_time", "first_visit_time", "last_deep_link_referrer", "user_id",
        ],
    ]

    private static let reservedPrefixes = ["firebase_", "ga_", "google_", "gtag_"]

    /// Returns the name that a name of ours has at Google. Two names never become one.
    static func fit(_ name: String, as kind: Kind) -> String {
        name.withoutDollar { name in
            // As it arrives: `google-pay` begins like `google_pay`.
            let letters = name.lazy.map { isAccepted($0) ? $0 : "_" }
            return !(name.first.map(isLetter) ?? false) || reserved[kind]?.contains(String(name)) == true
                || reservedPrefixes.contains { letters.starts(with: $0.unicodeScalars) }
        }
        .fitted(to: kind.length, where: isAccepted)
    }

    private static func isAccepted(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Accents and vowel signs belong to letters.
        case .decimalNumber, .nonspacingMark, .spacingMark: true
        default: scalar == "_" || isLetter(scalar)
        }
    }

    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
        default: false
        }
    }

    /// The parameters that are ids of things.
    private static let ids: Set = ["event_id", "session_id", "transaction_id", "group_id"]

    /// Returns `own`, and as many of the properties as fit. Lists, objects and nulls are left out, except for the list of a
    /// purchase's items. A property of the host replaces the one in `own` with its name, unless it is blank or no id.
    static func fit(_ properties: Properties, _ own: Properties, as kind: Kind, value limit: Int) -> Properties {
        var result = own
        for property in properties {
            let name = fit(property.name, as: kind)
            guard result.count < 25 || result[name] != nil else { continue }
            switch property.value {
            case .object, .null, []: break
            case .array(let list):
                let isItems = kind == .parameter && name == "items" && list.allSatisfy { $0.object != nil }
                if isItems { result[name] = property.value }
            case let id where ids.contains(name) && id.fieldID == nil: break
            case .string(let text) where text.isBlank && own[name] != nil: break
            case .int, .double: result[name] = property.value
            case let value:
                result[name] = .string(String(String.UnicodeScalarView(value.text.unicodeScalars.prefix(limit))))
            }
        }
        return result
    }
}
