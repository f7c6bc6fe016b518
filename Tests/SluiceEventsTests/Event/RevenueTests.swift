import Sluice
import Testing

@Suite("Revenue")
struct RevenueTests {
    @Test("it is the event $Revenue, with the amount, what it is for, and the host's own properties")
    func revenueHasProperties() {
        let revenue = Revenue(25, currency: "EUR", productID: "A-7", quantity: 2, ["coupon": "X", "$amount": 1])
        #expect(Revenue.eventName == "$Revenue")
        #expect(
            revenue.eventProperties == [
                "$amount": 25.0, "$quantity": 2, "$currency": "EUR", "$product_id": "A-7", "coupon": "X",
            ])
        let (list, dictionary): (Properties, [String: String]) = (["coupon": "X"], ["coupon": "X"])
        #expect(Revenue(25, list) == Revenue(25, ["coupon": "X"]) && Revenue(25, dictionary) == Revenue(25, list))
        #expect(Revenue(-3.5).eventProperties == ["$amount": -3.5, "$quantity": 1])
    }

    @Test("an event is revenue only by its name and a number as its amount")
    func eventIsRevenue() {
        let revenue = Revenue(25, currency: "EUR", productID: "A-7", quantity: 2, ["coupon": "X"])
        var event = Event(name: Revenue.eventName, properties: revenue.eventProperties)
        #expect(Revenue(event) == revenue)
        event.properties["$amount"] = 25
        #expect(Revenue(event)?.amount == 25)
        event.properties["$amount"] = "25"
        #expect(Revenue(event) == nil)
        #expect(Revenue(Event(name: "Bought", properties: revenue.eventProperties)) == nil)
    }
}
