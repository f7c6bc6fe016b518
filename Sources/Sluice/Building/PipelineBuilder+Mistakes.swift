// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Lines that don't fit together select an unavailable overload, so that the compiler prints a helpful sentence instead
// of type names. Each sentence must be understandable without its position, because the compiler often points at the
// opening brace of the block. `@_disfavoredOverload` marks the general cases, which have narrower ones beside them.

@_documentation(visibility: internal)
extension PipelineBuilder {
    @available(
        *, unavailable,
        message: "not a stage: the type lacks `: Processor`, `: Store` or `: Transport`; a closure needs Transform"
    )
    @_disfavoredOverload
    public static func buildExpression<Value>(_ value: Value) -> ProcessorFragment { _Fragment() }

    @available(*, unavailable, message: "an optional store: unwrap it, such as with `?? MemoryStore()`")
    public static func buildExpression(_ store: (any Store)?) -> StoreFragment { _Fragment() }

    @available(*, unavailable, message: "an optional transport: unwrap it, such as with `?? StdoutTransport()`")
    public static func buildExpression(_ transport: (any Transport)?) -> TransportFragment { _Fragment() }

    @available(*, unavailable, message: "an optional route: unwrap it with `if let`")
    public static func buildExpression(_ route: Route?) -> RouteFragment { _Fragment() }

    @available(*, unavailable, message: "an empty block: write a store and, after it, a transport")
    public static func buildBlock() -> StoreAndTransportFragment { _Fragment() }
}

// MARK: One line after another

@_documentation(visibility: internal)
extension PipelineBuilder {
    @available(*, unavailable, message: "a transport without a store: put one before it, such as MemoryStore()")
    public static func buildPartialBlock(
        accumulated: ProcessorFragment, next: TransportFragment
    ) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "a processor after the store: put it before the store")
    @_disfavoredOverload
    public static func buildPartialBlock<Shape>(
        accumulated: _Fragment<Shape>, next: ProcessorFragment
    ) -> _Fragment<Shape> { _Fragment() }

    @available(*, unavailable, message: "two stores in one route: keep one, or write a Route for each")
    @_disfavoredOverload
    public static func buildPartialBlock<Shape>(
        accumulated: _Fragment<Shape>, next: StoreFragment
    ) -> _Fragment<Shape> { _Fragment() }

    @available(*, unavailable, message: "two stores in one route: keep one, or write a Route for each")
    @_disfavoredOverload
    public static func buildPartialBlock<Shape>(
        accumulated: _Fragment<Shape>, next: StoreAndTransportFragment
    ) -> _Fragment<Shape> { _Fragment() }

    @available(*, unavailable, message: "two transports in one route: keep one, or write a Route for each")
    public static func buildPartialBlock(
        accumulated: StoreAndTransportFragment, next: TransportFragment
    ) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "a transport without a store: put one before it, such as MemoryStore()")
    public static func buildPartialBlock<Shape>(
        accumulated: TransportFragment, next: _Fragment<Shape>
    ) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "a store beside routes: put it and its transport into a Route")
    @_disfavoredOverload
    public static func buildPartialBlock<Shape>(
        accumulated: _Fragment<Shape>, next: RouteFragment
    ) -> RouteFragment { _Fragment() }

    @available(*, unavailable, message: "a store beside routes: put it and its transport into a Route")
    public static func buildPartialBlock<Shape>(
        accumulated: RouteFragment, next: _Fragment<Shape>
    ) -> RouteFragment { _Fragment() }

    @available(*, unavailable, message: "a processor after a route: put it before the routes or into one of them")
    public static func buildPartialBlock(
        accumulated: RouteFragment, next: ProcessorFragment
    ) -> RouteFragment { _Fragment() }

    @available(*, unavailable, message: "a transport beside routes: put it into a Route, after a store")
    public static func buildPartialBlock(
        accumulated: RouteFragment, next: TransportFragment
    ) -> RouteFragment { _Fragment() }
}

// MARK: Control flow

@_documentation(visibility: internal)
extension PipelineBuilder {
    @available(*, unavailable, message: "a store in an `if` without `else`: add an `else` with a store")
    @_disfavoredOverload
    public static func buildOptional<Shape>(_ fragment: _Fragment<Shape>?) -> _Fragment<Shape> { _Fragment() }

    @available(*, unavailable, message: "a transport in an `if` without `else`: add an `else` with a transport")
    public static func buildOptional(_ fragment: TransportFragment?) -> TransportFragment { _Fragment() }

    @available(*, unavailable, message: "the branches of an `if` or `switch` must end with the same kind of stage")
    @_disfavoredOverload
    public static func buildEither<Shape>(first: _Fragment<Shape>) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "the branches of an `if` or `switch` must end with the same kind of stage")
    @_disfavoredOverload
    public static func buildEither<Shape>(second: _Fragment<Shape>) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "a store or transport in a `for`: only processors and routes can be repeated")
    @_disfavoredOverload
    public static func buildArray<Shape>(_ fragments: [_Fragment<Shape>]) -> StoreAndTransportFragment { _Fragment() }
}

// MARK: The end of the block

@_documentation(visibility: internal)
extension PipelineBuilder {
    @available(*, unavailable, message: "no store: end the block with a store and, after it, a transport")
    public static func buildFinalResult(_ fragment: ProcessorFragment) -> _PipelinePlan { _PipelinePlan() }

    @available(*, unavailable, message: "no transport: put one after the store, such as StdoutTransport()")
    public static func buildFinalResult(_ fragment: StoreFragment) -> _PipelinePlan { _PipelinePlan() }

    @available(*, unavailable, message: "no store: put one before the transport, such as MemoryStore()")
    public static func buildFinalResult(_ fragment: TransportFragment) -> _PipelinePlan { _PipelinePlan() }

    @available(*, unavailable, message: "no store: end the block with a store and, after it, a transport")
    public static func buildFinalResult(_ fragment: ProcessorFragment) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "no transport: put one after the store, such as StdoutTransport()")
    public static func buildFinalResult(_ fragment: StoreFragment) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "no store: put one before the transport, such as MemoryStore()")
    public static func buildFinalResult(_ fragment: TransportFragment) -> StoreAndTransportFragment { _Fragment() }

    @available(*, unavailable, message: "a route in a route: put routes beside each other, in the pipeline's block")
    public static func buildFinalResult(_ fragment: RouteFragment) -> StoreAndTransportFragment { _Fragment() }
}
