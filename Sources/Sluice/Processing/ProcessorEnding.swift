/// The end of a pipeline's processors: calls ``Processor/finish()`` of each one, once.
final class ProcessorEnding: Sendable {
    private struct State {
        var isBegun = false
        var isOver = false
        /// The types of the processors that are finishing, by their chains.
        var finishing: [Int: String] = [:]
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// Whether all processors have finished, or their time is over.
    var isOver: Bool { state.withLock(\.isOver) }

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
            defer { state.isBegun = true }
            if !state.isBegun {
                state.isOver = chains.isEmpty
                for (index, chain) in chains.enumerated() { state.finishing[index] = name(of: chain.last) }
            }
            return !state.isBegun
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
        await wait()
        alarm.cancel()
    }

    private func finish(_ chain: [any Processor], _ index: Int) async {
        for processor in chain.reversed() {
            let isOver = state.withLock { state in
                if !state.isOver { state.finishing[index] = name(of: processor) }
                return state.isOver
            }
            guard !isOver else { return }
            await processor.finish()
        }
        let isLast = state.withLock { state in
            state.finishing[index] = nil
            return state.finishing.isEmpty
        }
        if isLast { end() }
    }

    /// - Returns: the processors that have not finished.
    @discardableResult
    private func end() -> [String] {
        let (waiters, late) = state.withLock { state in
            defer { (state.isOver, state.waiters, state.finishing) = (true, [], [:]) }
            return (state.waiters, state.finishing.sorted { $0.key < $1.key }.map(\.value))
        }
        for waiter in waiters { waiter.resume() }
        return late
    }

    private func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiters.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    private func name(of processor: (any Processor)?) -> String { processor.map { "\(type(of: $0))" } ?? "" }
}
