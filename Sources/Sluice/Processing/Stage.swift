/// A processor at its place in a pipeline, linked to the stage below it.
///
/// A linked list, because a loop over an array would copy and retain each processor.
final class Stage: Sendable {
    let processor: any Processor
    let next: Stage?

    /// Returns nil if there are no processors.
    init?(_ processors: ArraySlice<any Processor>) {
        guard let first = processors.first else { return nil }
        processor = first
        next = Stage(processors.dropFirst())
    }

    func process(_ event: inout Event) -> Disposition {
        let disposition = processor.process(&event)
        // In this form, `next` is not retained.
        return if case .keep = disposition.kind { next?.process(&event) ?? .keep } else { disposition }
    }

    /// Returns the stage below the one at an index; nil below the last one.
    func below(_ index: Int) -> Stage? { index == 0 ? next : next?.below(index - 1) }
}
