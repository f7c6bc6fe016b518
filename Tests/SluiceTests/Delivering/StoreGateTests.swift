import Testing

@testable import Sluice
@testable import SluiceDelivery

@Suite struct StoreGateTests {
    /// The macro can't call mutating methods.
    private func expect(_ value: Bool, _ expected: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(value == expected, sourceLocation: sourceLocation)
    }

    private func opened() -> StoreGate {
        var gate = StoreGate()
        gate.open()
        return gate
    }

    @Test("a store that was never opened can't be used and is not closed")
    func unopenedStoreIsNotClosed() {
        var gate = StoreGate()
        expect(gate.enter(), false)
        gate.close()
        expect(gate.takeClosing(), false)
        #expect(gate.isClosed)
        expect(gate.enter(), false)
    }

    @Test("an unused store is closed immediately, and by one caller only")
    func unusedStoreIsClosed() {
        var gate = opened()
        gate.close()
        expect(gate.takeClosing(), true)
        gate.close()
        expect(gate.takeClosing(), false)
        expect(gate.enter(), false)
        gate.didClose()
        gate.close()
        expect(gate.takeClosing(), false)
    }

    @Test("a store in use is closed by whoever leaves last")
    func lastUserCloses() {
        var gate = opened()
        expect(gate.enter(), true)
        expect(gate.enter(), true)
        gate.close()
        expect(gate.takeClosing(), false)
        expect(gate.enter(), false)
        gate.leave()
        expect(gate.takeClosing(), false)
        gate.leave()
        expect(gate.takeClosing(), true)
        #expect(!gate.isClosed)
        gate.didClose()
        #expect(gate.isClosed)
    }

    @Test("an abandoned store counts as closed, and is closed by the last user")
    func abandonedStoreIsClosedLater() {
        var gate = opened()
        expect(gate.abandon(), false)
        expect(gate.enter(), true)
        gate.close()
        expect(gate.takeClosing(), false)
        expect(gate.abandon(), true)
        expect(gate.abandon(), false)
        #expect(gate.isClosed)
        expect(gate.enter(), false)
        gate.leave()
        expect(gate.takeClosing(), true)
    }

    @Test("leaving an open store closes nothing")
    func leavingKeepsOpen() {
        var gate = opened()
        expect(gate.enter(), true)
        gate.leave()
        expect(gate.takeClosing(), false)
        expect(gate.enter(), true)
    }
}
