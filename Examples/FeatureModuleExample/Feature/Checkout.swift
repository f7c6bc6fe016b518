// A feature module. It depends on nothing but SluiceEvents. Its host decides what happens to the events.

public import SluiceEvents

public struct Checkout: Sendable {
    private let analytics: any EventTracking

    public init(tracking analytics: any EventTracking) {
        self.analytics = analytics
    }

    public func cancel(at step: Int) {
        analytics.track("CheckoutCancelled", ["step": step])
    }
}

extension Checkout {
    private struct Purchase: TrackedEvent {
        static let eventName = "Purchase"
        let sku: String
        let amount: Double
    }

    public func pay(_ amount: Double, for sku: String) {
        analytics.track(Purchase(sku: sku, amount: amount), priority: .critical)
    }
}
