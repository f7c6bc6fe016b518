extension _PipelinePlan {
    /// Claims the places of the processors for a pipeline. An object, or a value with a ``PluginContext``, stands in one place of
    /// one living pipeline, because its state and its context belong to one chain.
    ///
    /// - Throws: ``SluiceError/Code/invalidPipeline`` if an object is listed twice, or stands in another living pipeline.
    func claimPlaces(for pipeline: StateGate) throws(SluiceError) {
        let all = (processors + routes.flatMap(\.stages.processors)).compactMap { processor in
            _PipelinePlan.object(processor).map { (processor, object: $0) }
        }
        var objects: Set<ObjectIdentifier> = []
        for (processor, object) in all where !objects.insert(object).inserted {
            throw _PipelinePlan.error(processor, "is listed twice")
        }
        if let index = pipeline.claim(all.map(\.object)) {
            throw _PipelinePlan.error(
                all[index].0, "stands in another pipeline, which was not shut down or released")
        }
    }

    private static func error(_ processor: any Processor, _ fault: String) -> SluiceError {
        SluiceError(
            .invalidPipeline,
            "one \(type(of: processor)) \(fault): list it once, above the routes, or make one object for each place, with "
                + "a directory of its own unless it is an Identity")
    }
}
