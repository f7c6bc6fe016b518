import Sluice

/// The values of the caller: 5 strings, 3 integers, 2 doubles and 2 booleans.
///
/// Each candidate makes its own kind of properties from it, event by event, as a host does.
struct Sample {
    static let event = "Purchase"

    let product = "Trail running shoes"
    let currency = "EUR"
    let category: String
    let coupon: String
    let referrer: String
    let quantity: Int
    let stock: Int
    let position: Int
    let amount: Double
    let discount: Double
    let isGift: Bool
    let isReturning: Bool

    init(_ index: Int) {
        // Made beforehand, as most strings of a host are, but not literals, which need no reference counting.
        let strings = Sample.strings[index % Sample.strings.count]
        category = strings.category
        coupon = strings.coupon
        referrer = strings.referrer
        quantity = index % 7 + 1
        stock = 1_000_000 - index
        position = index % 40
        amount = Double(index % 9_000) + 0.99
        discount = Double(index % 13) / 16
        isGift = index % 2 == 0
        isReturning = index % 3 == 0
    }

    private static let strings = (0..<64).map { number in
        (
            category: "shoes/running/trail-\(number)",
            coupon: "SPRING-\(number)",
            referrer: "https://shop.example/search?q=trail+running+shoes&page=\(number)"
        )
    }

    var properties: Properties {
        [
            "product": .string(product), "currency": .string(currency), "category": .string(category),
            "coupon": .string(coupon), "referrer": .string(referrer), "quantity": .int(quantity),
            "stock": .int(stock), "position": .int(position), "amount": .double(amount),
            "discount": .double(discount), "is_gift": .bool(isGift), "is_returning": .bool(isReturning),
        ]
    }
}
