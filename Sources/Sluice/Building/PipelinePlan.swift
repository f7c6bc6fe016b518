/// The processors and routes of a ``Pipeline``'s block.
@_documentation(visibility: internal)
public struct _PipelinePlan {
    let processors: [any Processor]
    let routes: [Route]

    /// Finds the mistakes that types can't show.
    func validate() throws(SluiceError) {
        guard !routes.isEmpty else {
            throw SluiceError(.invalidPipeline, "the pipeline has no route: the conditions in its block left nothing")
        }
        var names: Set<String> = []
        var stores: Set<ObjectIdentifier> = []
        for route in routes {
            guard !route.name.isEmpty else {
                throw SluiceError(.invalidPipeline, "a route without a name: give it one, which the ledger uses")
            }
            guard names.insert(route.name).inserted else {
                throw SluiceError(.invalidPipeline, "two routes are called \"\(route.name)\": give each its own name")
            }
            if let store = route.stages.store, let object = _PipelinePlan.object(store) {
                guard stores.insert(object).inserted else {
                    throw SluiceError(.invalidPipeline, "one store in two routes: give each route a store of its own")
                }
            }
            try validate(processors + route.stages.processors)
        }
    }

    private func validate(_ processors: [any Processor]) throws(SluiceError) {
        var objects: Set<ObjectIdentifier> = []
        var types: Set<ObjectIdentifier> = []
        for processor in processors {
            let type = type(of: processor)
            let isNewObject = _PipelinePlan.object(processor).map { objects.insert($0).inserted } ?? true
            let isNewType = types.insert(ObjectIdentifier(type)).inserted
            guard isNewObject, isNewType || !type.isUnique else {
                throw SluiceError(.invalidPipeline, "\(type) is listed twice: an event would pass it twice; remove one")
            }
        }
    }

    /// Nil for a value: only objects have an identity.
    private static func object(_ stage: Any) -> ObjectIdentifier? {
        type(of: stage) is AnyObject.Type ? ObjectIdentifier(stage as AnyObject) : nil
    }
}
