import Sluice
import SluiceTesting
import TestSupport
import Testing

/// Which signals count: the rule for repeated and late ones.
@Suite struct SignalRuleTests {
    static let alphabet: [Signal] = [
        .launched(.foreground), .launched(.passive), .didBecomeActive, .willResignActive, .didEnterBackground,
        .willTerminate, .connectivity(.available),
    ]

    /// The rule in sentences, about the signals that have counted so far, without connectivity.
    private func counts(_ signal: Signal, after counted: [Signal]) -> Bool {
        // The network has nothing to do with the life of the app.
        if signal.connectivity != nil { return true }
        if counted.contains(.willTerminate) { return false }
        // A launch comes first.
        if signal.launch != nil { return counted.isEmpty }
        // An app can't become what it is.
        if counted.last == signal { return false }
        // Nothing interrupts an app in the background.
        return !(signal == .willResignActive && counted.last == .didEnterBackground)
    }

    @Test("the rule holds for every sequence of up to six signals")
    func ruleHoldsForAllSequences() {
        var sequences = 0
        func visit(_ life: AppLife, _ counted: [Signal], _ ignored: Int, _ length: Int) {
            sequences += 1
            guard length < 6 else { return }
            for signal in Self.alphabet {
                var next = life
                let isAccepted = next.accept(signal) == nil
                let isExpected = counts(signal, after: counted)
                if isAccepted != isExpected { Issue.record("\(signal) after \(counted): \(isAccepted)") }
                if next.ignored != ignored + (isExpected ? 0 : 1) { Issue.record("\(next.ignored) after \(counted)") }
                let isPart = isExpected && signal.connectivity == nil
                visit(next, isPart ? counted + [signal] : counted, next.ignored, length + 1)
            }
        }
        visit(AppLife(), [], 0, 0)
        #expect(
            sequences == (0...6).reduce(0) { sum, length in sum + (0..<length).reduce(1) { power, _ in power * 7 } })
    }

    private final class Listener: Processor {
        let signals = Locked<[Signal]>([])
        func process(_ event: inout Event) -> Disposition { .keep }
        func update(for signal: Signal) { signals.withLock { $0.append(signal) } }
        func emit(for signal: Signal) { signals.withLock { $0.append(signal) } }
    }

    @Test("a signal that doesn't count reaches no processor, and is reported with the number of these signals")
    func ignoredSignalIsReported() throws {
        let (shared, own) = (Listener(), Listener())
        let said = Locked<[Diagnostic]>([])
        let pipeline = try Pipeline(onDiagnostic: { diagnostic in said.withLock { $0.append(diagnostic) } }) {
            shared
            Route("main", own)
        }
        for signal in [.didBecomeActive, .launched(.passive), .didBecomeActive, .willResignActive] as [Signal] {
            pipeline.signal(signal)
        }
        let expected: [Signal] = [.didBecomeActive, .didBecomeActive, .willResignActive, .willResignActive]
        #expect(shared.signals.withLock { $0 } == expected && own.signals.withLock { $0 } == expected)
        #expect(
            said.withLock { $0.map(\.description) } == [
                "note: the signal launched(passive) is ignored, because the app is active (1 ignored so far)",
                "note: the signal didBecomeActive is ignored, because the app is active (2 ignored so far)",
            ])
    }
}
