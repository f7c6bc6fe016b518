import Testing

@testable import Sluice
@testable import SluiceDelivery

/// The host's conditions: tables of inputs and the answer after them.
@Suite struct ConditionsTests {
    private static func conditions(sendsOverMeteredNetworks: Bool = true) -> Conditions {
        var policy = DeliveryPolicy.standard
        policy.sendsOverMeteredNetworks = sendsOverMeteredNetworks
        return Conditions(policy)
    }

    struct Network: Sendable {
        var isPaused = false
        let connectivity: Signal.Connectivity?
        var sendsOverMeteredNetworks = true
        let mustWait: Bool
    }

    @Test(
        "a pause, a missing network and a metered one make delivery wait",
        arguments: [
            Network(connectivity: nil, mustWait: false),
            Network(connectivity: .available, mustWait: false),
            Network(connectivity: .metered, mustWait: false),
            Network(connectivity: .metered, sendsOverMeteredNetworks: false, mustWait: true),
            Network(connectivity: .available, sendsOverMeteredNetworks: false, mustWait: false),
            Network(connectivity: nil, sendsOverMeteredNetworks: false, mustWait: true),
            Network(connectivity: .unavailable, mustWait: true),
            Network(isPaused: true, connectivity: nil, mustWait: true),
            Network(isPaused: true, connectivity: .available, mustWait: true),
            Network(isPaused: true, connectivity: .metered, mustWait: true),
        ])
    func conditionsMakeDeliveryWait(network: Network) {
        var conditions = Self.conditions(sendsOverMeteredNetworks: network.sendsOverMeteredNetworks)
        if let connectivity = network.connectivity { _ = conditions.connectivityChanged(connectivity) }
        conditions.isPaused = network.isPaused
        #expect((conditions.obstacle != nil) == network.mustWait)
        conditions.isPaused = false
        #expect((conditions.obstacle != nil) == (network.mustWait && !network.isPaused))
    }

    @Test("only a network after a missing one is regained")
    func regainedAfterMissing() {
        var conditions = Self.conditions()
        let reports: [Signal.Connectivity] = [
            .available, .available, .metered, .unavailable, .unavailable, .metered, .available,
        ]
        let changes = reports.map { conditions.connectivityChanged($0) }
        #expect(changes.map(\.isOther) == [true, false, true, false, false, true, true])
        #expect(changes.map(\.isRegained) == [false, false, false, false, false, true, false])
    }

    @Test(
        "no batch is started shortly before a suspension, and shortly after",
        arguments: [
            // 30 s of much background time are left, a third of little.
            (180, 149, nil), (180, 150, 190), (30, 19, nil), (30, 20, 40), (0, 0, 10), (-5, 0, 10), (0, 9, 10),
            (0, 10, nil), (180, 190, nil),
        ] as [(Int, Int, Int?)])
    func suspensionIsAvoided(seconds: Int, now: Int, end: Int?) {
        var conditions = Self.conditions()
        conditions.expectSuspension(in: .seconds(seconds), at: .zero)
        #expect(conditions.suspensionEnd(at: .seconds(now)) == end.map { .seconds($0) })
        conditions.expectSuspension(in: nil, at: .zero)
        #expect(conditions.suspensionEnd(at: .seconds(now)) == nil)
    }
}
