import Sluice
import SluiceHTTP

/// The names that a vendor's own SDK has for the events of `LifecycleEvents` and `Sessions`, and for their properties.
struct VendorNames {
    let events: [String: String]
    let properties: [String: String]

    /// The names of Segment's specification, which PostHog shares.
    static let application = VendorNames(
        events: [
            "$AppStart": "Application Opened", "$AppEnd": "Application Backgrounded",
            "$AppInstall": "Application Installed", "$AppUpdate": "Application Updated",
        ],
        properties: [
            "$app_version": "version", "$app_build": "build", "$previous_version": "previous_version",
            "$previous_build": "previous_build", "$resume_from_background": "from_background",
        ])

    static let amplitude = VendorNames(
        events: [
            "$AppStart": "[Amplitude] Application Opened", "$AppEnd": "[Amplitude] Application Backgrounded",
            "$AppInstall": "[Amplitude] Application Installed", "$AppUpdate": "[Amplitude] Application Updated",
            "$SessionStart": "session_start", "$SessionEnd": "session_end",
        ],
        properties: [
            "$app_version": "[Amplitude] Version", "$app_build": "[Amplitude] Build",
            "$previous_version": "[Amplitude] Previous Version", "$previous_build": "[Amplitude] Previous Build",
            "$resume_from_background": "[Amplitude] From Background",
        ])

    /// Automatic properties, which stay under their own names too.
    private static let kept: Set = ["$app_version", "$app_build"]

    /// Gives an event its vendor's name, and its properties theirs. Other events stay as they are.
    func apply(to event: inout Event) {
        guard let name = events[event.name] else { return }
        event.name = name
        for property in event.properties {
            guard let other = properties[property.name], event.properties[other] == nil else { continue }
            event.properties[other] = property.value
            if !VendorNames.kept.contains(property.name) { event.properties[property.name] = nil }
        }
    }
}

extension String {
    /// Returns the name with `sluice_` instead of the `$` of this package's own names, and `own_` in front of names that
    /// begin with one of these words or are taken.
    func withoutDollar(if isTaken: (Substring.UnicodeScalarView) -> Bool) -> String {
        if unicodeScalars.first == "$" { return "sluice_" + String(unicodeScalars.dropFirst()) }
        return prefixed(by: "own_") { $0.starts(with: "sluice_".unicodeScalars) || isTaken($0) }
    }
}

extension Revenue {
    /// The name of Segment's specification for revenue.
    static let orderName = "Order Completed"

    /// The properties of Segment's specification: the order with its one product.
    func order(of event: Event) -> Properties {
        var product: Properties = ["quantity": .int(Int64(quantity))]
        product["product_id"] = productID.map { .string($0) }
        product["price"] = price.map { .double($0) }
        var order: Properties = ["revenue": .double(amount), "products": [.object(product)]]
        order["currency"] = currencyCode.map { .string($0) }
        // The host's own names take precedence.
        var result = properties
        result["order_id"] = orderID(of: event)
        result.addDefaults(order)
        return result
    }

    /// The host's `order_id`, or the id of the event. Receivers take revenue with the id of an earlier order for a repetition.
    func orderID(of event: Event) -> PropertyValue { properties["order_id"]?.fieldID ?? .string(event.id.description) }

    /// The currency in capitals, as all vendors expect it.
    var currencyCode: String? { currency?.uppercased() }

    /// The price of a piece. Nil without pieces.
    var price: Double? { quantity == 0 ? nil : amount / Double(quantity) }
}

extension ArgumentCheck {
    /// Checks an id that the backend counts from 1, such as one of a site.
    static func number(_ name: StaticString, _ value: String?) throws(SluiceError) {
        try key(name, value)
        guard let value, !(0x31...0x39).contains(value.utf8.first ?? 0) || UInt64(value) == nil else { return }
        throw invalid(name, "isn't a number above 0: pass the id that the backend shows")
    }
}
