/// The places of a pipeline's processors. An object, or a value with a ``PluginContext``, stands in one place of one living
/// pipeline, because its state and its context belong to one chain.
final class ProcessorPlaces: Sendable {
    /// The objects in all living pipelines.
    private static let occupied = Locked<Set<ObjectIdentifier>>([])

    /// The objects of this pipeline, which keeps them alive until ``release()``.
    private let objects: Locked<Set<ObjectIdentifier>>

    /// Occupies the places of a plan.
    ///
    /// - Throws: ``SluiceError/Code/invalidPipeline`` if an object is listed twice, or stands in another living pipeline.
    init(_ plan: _PipelinePlan) throws(SluiceError) {
        var objects: Set<ObjectIdentifier> = []
        for processor in plan.processors + plan.routes.flatMap(\.stages.processors) {
            guard let object = _PipelinePlan.object(processor) else { continue }
            guard objects.insert(object).inserted else { throw ProcessorPlaces.error(processor, "is listed twice") }
        }
        let taken = ProcessorPlaces.occupied.withLock { occupied in
            let taken = objects.intersection(occupied)
            if taken.isEmpty { occupied.formUnion(objects) }
            return taken
        }
        for processor in plan.processors + plan.routes.flatMap(\.stages.processors) {
            guard let object = _PipelinePlan.object(processor), taken.contains(object) else { continue }
            throw ProcessorPlaces.error(processor, "stands in another pipeline, which was not shut down or released")
        }
        self.objects = Locked(objects)
    }

    /// Frees the places for another pipeline.
    func release() {
        let objects = objects.withLock { objects in
            defer { objects = [] }
            return objects
        }
        ProcessorPlaces.occupied.withLock { $0.subtract(objects) }
    }

    private static func error(_ processor: any Processor, _ fault: String) -> SluiceError {
        SluiceError(
            .invalidPipeline,
            "one \(type(of: processor)) \(fault): list it once, above the routes, or make one object for each place, with "
                + "a directory of its own unless it is an Identity")
    }
}
