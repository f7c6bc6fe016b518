/// The end of a pipeline's processors: calls ``Processor/finish()`` of each one, once.
final class ProcessorEnding: Sendable {
    private struct State {
        /// The types of the processors that are finishing, by their chains: nil before the begin, and empty when all have finished,
        /// or their time is over.
        var finishing: [Int: String]?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Whether all processors have finished, or their time is over.
    var isOver: Bool { state.withLock { $0.finishing == [:] } }

    /// Finishes the processors of each chain from the last line to the first, and all chains at the same time.
    ///
    /// Returns when all have finished, or after `time` even if one hangs. The later processors of its chain then don't
    /// finish. Of several calls, the one with the nearest end decides for all.
    ///
    /// - Parameters:
    ///   - chains: the processors, in the order of their lines.
    ///   - time: the longest time to wait.
    ///   - path: has the clock of `time`, and reports each processor that hangs.
    func run(
        _ chains: [[any Processor]], within time: Duration, _ path: EventPath
    ) async {
        let environment = path.environment
        let chains = chains.filter { !$0.isEmpty }
        let isFirst = state.withLock { state in
            guard state.finishing == nil else { return false }
            state.finishing = Dictionary(uniqueKeysWithValues: chains.enumerated().map { ($0, name(of: $1.last)) })
            return true
        }
        if isOver { return }
        for (index, chain) in chains.enumerated() where isFirst {
            Task.onOwnThread(hasThreads: environment.hasThreads) { await self.finish(chain, index) }
        }
        let end = environment.time.continuousTime() + time
        let alarm = Task {
            do {
                try await environment.time.sleep(until: end)
            } catch {
                return  // All have finished.
            }
            // Without any time, a report would say nothing about them.
            for processor in self.end() where time > .zero {
                path.report(
                    .plugin,
                    "\(processor): finish() has not returned in time, so its last events and its state may be lost")
            }
        }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.finishing != [:] { state.waiters.append(continuation) }
                return state.finishing == [:]
            }
            if isOver { continuation.resume() }
        }
        alarm.cancel()
    }

    private func finish(_ chain: [any Processor], _ index: Int) async {
        for processor in chain.reversed() {
            let goesOn = state.withLock { state in
                guard state.finishing?[index] != nil else { return false }
                state.finishing?[index] = name(of: processor)
                return true
            }
            guard goesOn else { return }
            await processor.finish()
        }
        let isLast = state.withLock { state in
            state.finishing?[index] = nil
            return state.finishing == [:]
        }
        if isLast { end() }
    }

    /// - Returns: the processors that have not finished.
    @discardableResult
    private func end() -> [String] {
        let (waiters, late) = state.withLock { state in
            defer { (state.waiters, state.finishing) = ([], [:]) }
            return (state.waiters, state.finishing?.sorted { $0.key < $1.key }.map(\.value) ?? [])
        }
        for waiter in waiters { waiter.resume() }
        return late
    }

    private func name(of processor: (any Processor)?) -> String { processor.map { "\(type(of: $0))" } ?? "" }
}
