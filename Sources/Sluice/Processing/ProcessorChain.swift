/// Processors in their order. Each is reached from the one before: a loop over an array would take a copy of each, and the
/// reference counts of six stages cost as much as some of the stages.
final class ProcessorChain: Sendable {
    private let processor: any Processor
    private let next: ProcessorChain?

    /// Nil if there are none.
    convenience init?(_ processors: [any Processor]) {
        self.init(processors[...])
    }

    private init?(_ processors: ArraySlice<any Processor>) {
        guard let first = processors.first else { return nil }
        processor = first
        next = ProcessorChain(processors.dropFirst())
    }

    /// - Returns: why one of them has dropped the event.
    func process(_ event: inout Event) -> DropReason? {
        if case .drop(let reason) = processor.process(&event) { return reason }
        return next?.process(&event)
    }
}
