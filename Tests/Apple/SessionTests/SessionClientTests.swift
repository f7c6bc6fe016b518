import SluiceHTTP
import TestSupport
import Testing

@Suite("URLSession and hostile servers", .serialized, .ownThread)
struct SessionClientTests {
    /// FoundationNetworking waits for the timeout.
    private static let slow = [
        "closes a connection that it has kept", "resets a connection that it has kept",
        #"chunks that repeat "x=y;" after "2;""#,
    ]
    /// FoundationNetworking doesn't return.
    private static let endless = [#"chunks that repeat "X: 1\r\n" after "0\r\n""#]

    static let attacks = Attack.all.filter { !endless.contains($0.testDescription) }.map { attack in
        var attack = attack
        if slow.contains(attack.testDescription) { attack.isTimed = true }
        return attack
    }

    @Test("no event is lost, and the response is read correctly", arguments: attacks)
    func attackLosesNothing(attack: Attack) async throws {
        var trial = HostileTrial()
        try await trial.run(attack, 0)
    }
}
