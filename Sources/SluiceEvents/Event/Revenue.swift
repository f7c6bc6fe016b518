/// Income from a user: the event `$Revenue`, which wire formats send in the form of each analytics service.
///
/// ```swift
/// pipeline.track(Revenue(25, currency: "EUR", productID: "A-7", quantity: 2, ["coupon": "SPRING"]))
/// ```
///
/// A negative amount is a refund. The event has the properties `$amount`, `$currency`, `$product_id` and `$quantity`, and
/// your own ones.
public struct Revenue: TrackedEvent, Sendable, Hashable {
    /// `$Revenue`.
    public static let eventName = "$Revenue"

    /// The whole amount, in units of the currency such as euros. Not the price of a single piece.
    public var amount: Double
    /// The currency's code of ISO 4217, such as `EUR`. Nil if your receiver knows one currency only.
    public var currency: String?
    /// The id of the product.
    public var productID: String?
    /// The number of pieces.
    public var quantity: Int
    /// Further properties of the event.
    public var properties: Properties

    /// Creates revenue. Every parameter sets the property of the same name.
    public init(
        _ amount: Double, currency: String? = nil, productID: String? = nil, quantity: Int = 1,
        _ properties: PropertyLiteral = [:]
    ) {
        self.amount = amount
        self.currency = currency
        self.productID = productID
        self.quantity = quantity
        self.properties = properties.properties
    }

    /// The properties of the event.
    public var eventProperties: Properties {
        var result: Properties = ["$amount": .double(amount), "$quantity": .int(Int64(quantity))]
        result["$currency"] = currency.map { .string($0) }
        result["$product_id"] = productID.map { .string($0) }
        result.addDefaults(properties)
        return result
    }

    /// Creates revenue with a list or a dictionary in a variable.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public init(
        _ amount: Double, currency: String? = nil, productID: String? = nil, quantity: Int = 1,
        _ properties: some PropertyList
    ) {
        self.init(amount, currency: currency, productID: productID, quantity: quantity, properties.literal)
    }

    /// Reads the revenue of an event. Nil if the event has another name, or no amount.
    package init?(_ event: Event) {
        let properties = event.properties
        switch properties["$amount"] {
        case _ where event.name != Revenue.eventName: return nil
        case .int(let int): self.init(Double(int))
        case .double(let double): self.init(double)
        default: return nil
        }
        self.properties = properties
        // A value of another type stays a property.
        self.properties["$amount"] = nil
        if case .string(let code) = properties["$currency"] { (currency, self.properties["$currency"]) = (code, nil) }
        if case .string(let id) = properties["$product_id"] { (productID, self.properties["$product_id"]) = (id, nil) }
        if case .int(let count) = properties["$quantity"] {
            (quantity, self.properties["$quantity"]) = (Int(count), nil)
        }
    }
}
