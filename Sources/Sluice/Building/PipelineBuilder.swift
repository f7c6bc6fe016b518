/// Puts together the block of a ``Pipeline`` or a ``Route``, and lets only what can work compile.
///
/// Lines are processors first, then either one store and one transport, or any number of ``Route``s. `if`/`else`,
/// `switch`, `for`, `#if`, `#available`, `try` and fragments from a host's own `@PipelineBuilder` functions may stand
/// wherever the lines in them may.
@resultBuilder
public enum PipelineBuilder {
    // MARK: Lines

    public static func buildExpression(_ processor: some Processor) -> ProcessorFragment {
        Fragment(processors: [processor])
    }

    public static func buildExpression(_ processor: any Processor) -> ProcessorFragment {
        Fragment(processors: [processor])
    }

    public static func buildExpression(_ store: some Store) -> StoreFragment {
        Fragment(store: store)
    }

    public static func buildExpression(_ store: any Store) -> StoreFragment {
        Fragment(store: store)
    }

    public static func buildExpression(_ transport: some Transport) -> TransportFragment {
        Fragment(transport: transport)
    }

    public static func buildExpression(_ transport: any Transport) -> TransportFragment {
        Fragment(transport: transport)
    }

    public static func buildExpression(_ route: Route) -> RouteFragment {
        Fragment(routes: [route])
    }

    public static func buildExpression<Shape>(_ fragment: Fragment<Shape>) -> Fragment<Shape> {
        fragment
    }

    // MARK: One line after another

    public static func buildPartialBlock<Shape>(first: Fragment<Shape>) -> Fragment<Shape> {
        first
    }

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

    // MARK: Control flow

    public static func buildOptional(_ fragment: ProcessorFragment?) -> ProcessorFragment {
        fragment ?? Fragment()
    }

    public static func buildOptional(_ fragment: RouteFragment?) -> RouteFragment {
        fragment ?? Fragment()
    }

    public static func buildEither<Shape>(first: Fragment<Shape>) -> Fragment<Shape> {
        first
    }

    public static func buildEither<Shape>(second: Fragment<Shape>) -> Fragment<Shape> {
        second
    }

    public static func buildArray(_ fragments: [ProcessorFragment]) -> ProcessorFragment {
        fragments.reduce(Fragment()) { $0.with($1) }
    }

    public static func buildArray(_ fragments: [RouteFragment]) -> RouteFragment {
        fragments.reduce(Fragment()) { $0.with($1) }
    }

    public static func buildLimitedAvailability<Shape>(_ fragment: Fragment<Shape>) -> Fragment<Shape> {
        fragment
    }

    // MARK: The end of the block

    public static func buildFinalResult(_ fragment: StoreAndTransportFragment) -> PipelinePlan {
        var route = fragment
        route.processors = []
        return PipelinePlan(processors: fragment.processors, routes: [Route("main", nil, route)])
    }

    public static func buildFinalResult(_ fragment: RouteFragment) -> PipelinePlan {
        PipelinePlan(processors: fragment.processors, routes: fragment.routes)
    }

    public static func buildFinalResult(_ fragment: StoreAndTransportFragment) -> RoutePlan {
        RoutePlan(fragment: fragment)
    }

    public static func buildFinalResult<Shape>(_ fragment: Fragment<Shape>) -> Fragment<Shape> {
        fragment
    }
}
