/// Some lines of a pipeline's block. Hosts return it from their own `@PipelineBuilder` functions, as one of
/// ``ProcessorFragment``, ``StoreFragment``, ``TransportFragment``, ``RouteFragment`` and ``StoreAndTransportFragment``.
///
/// `Shape` exists only for the compiler, which checks by it that the lines fit together.
public struct Fragment<Shape> {
    var processors: [any Processor] = []
    var store: (any Store)?
    var transport: (any Transport)?
    var routes: [Route] = []

    func with<Other, Result>(_ next: Fragment<Other>) -> Fragment<Result> {
        Fragment<Result>(
            processors: processors + next.processors, store: store ?? next.store,
            transport: transport ?? next.transport, routes: routes + next.routes)
    }
}

/// The shapes that lines of a pipeline's block can have.
public enum FragmentShape {
    /// Processors, and nothing after them yet.
    public enum Processors {}
    /// Perhaps processors, then a store.
    public enum Store {}
    /// A transport alone, to stand after a store.
    public enum Transport {}
    /// Perhaps processors, then a store and a transport.
    public enum StoreAndTransport {}
    /// Perhaps processors, then routes.
    public enum Routes {}
}

/// Lines that are processors only.
public typealias ProcessorFragment = Fragment<FragmentShape.Processors>
/// Lines that end with a store.
public typealias StoreFragment = Fragment<FragmentShape.Store>
/// A transport by itself.
public typealias TransportFragment = Fragment<FragmentShape.Transport>
/// Lines that end with a store and its transport.
public typealias StoreAndTransportFragment = Fragment<FragmentShape.StoreAndTransport>
/// Lines that end with routes.
public typealias RouteFragment = Fragment<FragmentShape.Routes>

/// What the block of a ``Route`` comes to.
public struct RoutePlan {
    let fragment: StoreAndTransportFragment
}

/// One way out of a pipeline: processors of its own, a store, a transport, and a policy of delivery.
///
/// Several routes stand beside each other in a pipeline's block, after the processors that all of them share. What
/// fails in one does not touch another.
public struct Route {
    let name: String
    let delivery: DeliveryPolicy?
    let stages: StoreAndTransportFragment

    /// - Parameters:
    ///   - name: how the ledger and the diagnostics call it; unique within the pipeline.
    ///   - delivery: nil for the pipeline's own policy.
    ///   - stages: processors in the order in which events pass them, then one store, then one transport.
    public init(
        _ name: String, delivery: DeliveryPolicy? = nil, @PipelineBuilder _ stages: () throws -> RoutePlan
    ) rethrows {
        self.init(name, delivery, try stages().fragment)
    }

    init(_ name: String, _ delivery: DeliveryPolicy?, _ fragment: StoreAndTransportFragment) {
        self.name = name
        self.delivery = delivery
        stages = fragment
    }
}
