import Sluice

/// Adds the shop's currency to every event that has a price.
struct Currency: Processor {
    let code: String

    func process(_ event: inout Event) -> Disposition {
        if event.properties["price"] != nil { event.properties["currency"] = code }
        return .keep
    }
}
