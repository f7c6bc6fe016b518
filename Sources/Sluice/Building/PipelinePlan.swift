/// The processors and routes of a ``Pipeline``'s block.
@_documentation(visibility: internal)
public struct _PipelinePlan {
    var processors: [any Processor] = []
    var routes: [Route] = []

    /// Finds the mistakes that types can't show.
    func validate(maximumEventBytes: Int) throws(SluiceError) {
        try SluiceError.require(
            maximumEventBytes > 0, "maximumEventBytes must be 1 or more, and is \(maximumEventBytes)")
        guard !routes.isEmpty else {
            throw SluiceError(.invalidPipeline, "the pipeline has no route: the conditions in its block left nothing")
        }
        var names: Set<String> = []
        var stores: Set<ObjectIdentifier> = []
        for route in routes {
            if let flaw = route.name.flaw {
                throw SluiceError(.invalidPipeline, "the name of a route, which is for the ledger, \(flaw)")
            }
            guard names.insert(route.name).inserted else {
                throw SluiceError(.invalidPipeline, "two routes are called \"\(route.name)\": give each its own name")
            }
            let store = route.stages.store.flatMap(_PipelinePlan.object)
            if let store, !stores.insert(store).inserted {
                throw SluiceError(.invalidPipeline, "one store in two routes: give each route a store of its own")
            }
            try validate(processors + route.stages.processors)
        }
    }

    /// Finds two processors on the way of one event that exclude each other.
    private func validate(_ processors: [any Processor]) throws(SluiceError) {
        var types: Set<ObjectIdentifier> = []
        for type in processors.map({ Swift.type(of: $0) }) where type.isUnique {
            guard types.insert(ObjectIdentifier(type)).inserted else {
                throw SluiceError(.invalidPipeline, "\(type) is listed twice: an event would pass it twice; remove one")
            }
        }
    }

    /// Returns the chain that all routes share. It leads to the chains of the routes.
    func chain(to runtimes: [RouteRuntime], in path: EventPath) -> Chain {
        var next: Chain?
        for (index, (route, runtime)) in zip(routes, runtimes).enumerated().reversed() {
            next = Chain(
                route.stages.processors, below: processors, to: runtime, number: index + 1, next: next, in: path)
        }
        return Chain(processors, next: next, in: path)
    }

    /// The identity of an object, or of the context that a value stores: a computed one is another each time.
    static func object(_ stage: Any) -> ObjectIdentifier? {
        // A cast to a type that the compiler doesn't know: others look for a bridge to Objective-C in each library.
        func cast<Object>(to type: Object.Type) -> Object? { stage as? Object }
        if Swift.type(of: stage) is AnyObject.Type { return cast(to: AnyObject.self).map(ObjectIdentifier.init) }
        let contexts = (0..<2).compactMap { _ in (stage as? any Processor)?.context as? PluginContext }
        return contexts.count == 2 && contexts[0] === contexts[1] ? ObjectIdentifier(contexts[0]) : nil
    }
}
