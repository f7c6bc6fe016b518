/// The end of a pipeline's processors: calls ``Processor/finish()`` of each one, once.
final class ProcessorEnding: Sendable {
    /// The types of the processors that are finishing, by their chains: nil before the begin, and empty when all have finished,
    /// or their time is over.
    private let finishing = Watched<[Int: String]?>(nil)

    /// Whether all processors have finished, or their time is over.
    var isOver: Bool { finishing.read { $0 == [:] } }

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
        let isFirst = finishing.update { finishing in
            guard finishing == nil else { return false }
            finishing = Dictionary(uniqueKeysWithValues: chains.enumerated().map { ($0, name(of: $1.last)) })
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
            let late = self.finishing.update { exchange(&$0, with: [:]) } ?? [:]
            // Without any time, a report would say nothing about them.
            for processor in late.sorted(by: { $0.key < $1.key }).map(\.value) where time > .zero {
                path.report(
                    .plugin,
                    "\(processor): finish() has not returned in time, so its last events and its state may be lost")
            }
        }
        await finishing.wait { $0 == [:] }
        alarm.cancel()
    }

    private func finish(_ chain: [any Processor], _ index: Int) async {
        for processor in chain.reversed() {
            let goesOn = finishing.update { finishing in
                guard finishing?[index] != nil else { return false }
                finishing?[index] = name(of: processor)
                return true
            }
            guard goesOn else { return }
            await processor.finish()
        }
        finishing.update { $0?[index] = nil }
    }

    private func name(of processor: (any Processor)?) -> String { processor.map { "\(type(of: $0))" } ?? "" }
}
