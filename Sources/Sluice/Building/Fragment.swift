/// Lines of a ``Pipeline``'s block. `Shape` exists only for the compiler, which uses it to check that the lines fit.
@_documentation(visibility: internal)
public struct _Fragment<Shape> {
    var processors: [any Processor] = []
    var store: (any Store)?
    var transport: (any Transport)?
    var routes: [Route] = []

    func with<Other, Result>(_ next: _Fragment<Other>) -> _Fragment<Result> {
        _Fragment<Result>(
            processors: processors + next.processors, store: store ?? next.store,
            transport: transport ?? next.transport, routes: routes + next.routes)
    }
}

/// Processors, as the result of your own ``PipelineBuilder`` function.
///
/// ```swift
/// @PipelineBuilder func common() -> ProcessorFragment {
///     AutoProperties()
///     Limits()
/// }
/// ```
public typealias ProcessorFragment = _Fragment<any Processor>
/// Processors, if any, and then a store, as the result of your own ``PipelineBuilder`` function.
///
/// ```swift
/// @PipelineBuilder func limitedStore() -> StoreFragment {
///     Limits()
///     MemoryStore()
/// }
/// ```
public typealias StoreFragment = _Fragment<any Store>
/// A transport, as the result of your own ``PipelineBuilder`` function.
///
/// ```swift
/// @PipelineBuilder func output(isDebug: Bool) -> TransportFragment {
///     if isDebug { StdoutTransport() } else { HTTPTransport(to: collector) }
/// }
/// ```
public typealias TransportFragment = _Fragment<any Transport>
/// Processors, if any, and then a store and a transport, as the result of your own ``PipelineBuilder`` function.
///
/// ```swift
/// @PipelineBuilder func delivery(isDebug: Bool) -> StoreAndTransportFragment {
///     limitedStore()
///     output(isDebug: isDebug)
/// }
/// ```
public typealias StoreAndTransportFragment = _Fragment<(any Store, any Transport)>
/// Processors, if any, and then routes, as the result of your own ``PipelineBuilder`` function.
///
/// ```swift
/// @PipelineBuilder func routes(to regions: [String]) -> RouteFragment {
///     for region in regions { Route(region) { delivery(isDebug: false) } }
/// }
/// ```
public typealias RouteFragment = _Fragment<Route>

/// One path out of a pipeline: its own processors, a store, a transport and a delivery policy.
///
/// A pipeline can have several routes, after the processors that they share. A failure in one route doesn't affect
/// the others.
///
/// ```swift
/// let pipeline = try Pipeline {
///     AutoProperties()
///     Route("product") {
///         MemoryStore()
///         HTTPTransport(to: collector)
///     }
///     Route("console", delivery: DeliveryPolicy(flushCount: 1)) {
///         MemoryStore()
///         StdoutTransport()
///     }
/// }
/// ```
public struct Route {
    let name: String
    let delivery: DeliveryPolicy?
    let stages: StoreAndTransportFragment
}

extension Route {
    /// Creates a route.
    ///
    /// - Parameters:
    ///   - name: The name in the ledger and in diagnostics: unique within the pipeline, not blank, and without newlines.
    ///   - delivery: The delivery policy; nil for the pipeline's.
    ///   - stages: Processors in the order in which events pass them, then one store, then one transport.
    /// - Throws: Errors thrown by the block.
    public init(
        _ name: String, delivery: DeliveryPolicy? = nil,
        @PipelineBuilder _ stages: () throws -> StoreAndTransportFragment
    ) rethrows {
        self.init(name: name, delivery: delivery, stages: try stages())
    }

    func runtime(
        defaultPolicy: DeliveryPolicy, environment: PipelineEnvironment,
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void
    ) throws(SluiceError) -> RouteRuntime {
        guard let store = stages.store, let transport = stages.transport else {
            throw SluiceError(.invalidPipeline, "the route \"\(name)\" lacks a store or a transport")
        }
        return try RouteRuntime(
            named: name, store, transport, policy: delivery ?? defaultPolicy, environment: environment,
            onDiagnostic: onDiagnostic)
    }
}
