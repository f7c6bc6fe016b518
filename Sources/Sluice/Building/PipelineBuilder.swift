// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The compiler calls these functions; they are hidden from the documentation.

/// Builds the block of a ``Pipeline`` or a ``Route``. Only pipelines that can work compile.
///
/// ```swift
/// let isDebug = true
/// let pipeline = try Pipeline {
///     if !isDebug { AutoProperties() }
///     MemoryStore()
///     if isDebug { StdoutTransport() } else { HTTPTransport(to: collector) }
/// }
/// ```
///
/// Write processors first, then either one store and one transport, or any number of ``Route``s. You can use
/// `if`/`else`, `switch`, `for`, `#if`, `#available` and `try`, and call your own `@PipelineBuilder` functions: see
/// ``ProcessorFragment``, ``StoreAndTransportFragment`` and ``RouteFragment``.
///
/// A line can also be an optional processor, which is left out if it is nil, or an array of processors.
@resultBuilder
public enum PipelineBuilder {}

// MARK: Lines

@_documentation(visibility: internal)
extension PipelineBuilder {
    // An optional takes values too.
    public static func buildExpression(_ processor: (any Processor)?) -> ProcessorFragment {
        _Fragment(processors: processor.map { [$0] } ?? [])
    }

    public static func buildExpression(_ processors: [any Processor]) -> ProcessorFragment {
        _Fragment(processors: processors)
    }

    public static func buildExpression(_ store: any Store) -> StoreFragment { _Fragment(store: store) }

    public static func buildExpression(_ transport: any Transport) -> TransportFragment {
        _Fragment(transport: transport)
    }

    public static func buildExpression(_ route: Route) -> RouteFragment { _Fragment(routes: [route]) }
    public static func buildExpression<Shape>(_ fragment: _Fragment<Shape>) -> _Fragment<Shape> { fragment }
}

// MARK: One line after another

@_documentation(visibility: internal)
extension PipelineBuilder {
    public static func buildPartialBlock<Shape>(first: _Fragment<Shape>) -> _Fragment<Shape> { first }

    public static func buildPartialBlock(
        accumulated: ProcessorFragment, next: ProcessorFragment
    ) -> ProcessorFragment {
        accumulated.with(next)
    }

    public static func buildPartialBlock(accumulated: ProcessorFragment, next: StoreFragment) -> StoreFragment {
        accumulated.with(next)
    }

    public static func buildPartialBlock(
        accumulated: ProcessorFragment, next: StoreAndTransportFragment
    ) -> StoreAndTransportFragment {
        accumulated.with(next)
    }

    public static func buildPartialBlock(accumulated: ProcessorFragment, next: RouteFragment) -> RouteFragment {
        accumulated.with(next)
    }

    public static func buildPartialBlock(
        accumulated: StoreFragment, next: TransportFragment
    ) -> StoreAndTransportFragment {
        accumulated.with(next)
    }

    public static func buildPartialBlock(accumulated: RouteFragment, next: RouteFragment) -> RouteFragment {
        accumulated.with(next)
    }
}

// MARK: Control flow

@_documentation(visibility: internal)
extension PipelineBuilder {
    public static func buildOptional(_ fragment: ProcessorFragment?) -> ProcessorFragment { fragment ?? _Fragment() }
    public static func buildOptional(_ fragment: RouteFragment?) -> RouteFragment { fragment ?? _Fragment() }
    public static func buildEither<Shape>(first: _Fragment<Shape>) -> _Fragment<Shape> { first }
    public static func buildEither<Shape>(second: _Fragment<Shape>) -> _Fragment<Shape> { second }

    public static func buildArray(_ fragments: [ProcessorFragment]) -> ProcessorFragment {
        _Fragment(processors: fragments.flatMap(\.processors))
    }

    public static func buildArray(_ fragments: [RouteFragment]) -> RouteFragment {
        _Fragment(processors: fragments.flatMap(\.processors), routes: fragments.flatMap(\.routes))
    }

    public static func buildLimitedAvailability<Shape>(_ fragment: _Fragment<Shape>) -> _Fragment<Shape> { fragment }
}

// MARK: The end of the block

@_documentation(visibility: internal)
extension PipelineBuilder {
    public static func buildFinalResult(_ fragment: StoreAndTransportFragment) -> _PipelinePlan {
        var route = fragment
        route.processors = []
        return _PipelinePlan(processors: fragment.processors, routes: [Route("main") { route }])
    }

    public static func buildFinalResult(_ fragment: RouteFragment) -> _PipelinePlan {
        _PipelinePlan(processors: fragment.processors, routes: fragment.routes)
    }

    public static func buildFinalResult<Shape>(_ fragment: _Fragment<Shape>) -> _Fragment<Shape> { fragment }
}
