// What does not fit together is an unavailable overload: the compiler then says the sentence that helps, where it
// would else speak of types. The sentences say all by themselves, because the compiler's caret is often on the
// block's opening brace.

extension PipelineBuilder {
    @available(
        *, unavailable,
        message: "this line is no stage: a pipeline's block takes processors, a store, a transport and routes"
    )
    @_disfavoredOverload
    public static func buildExpression<Value>(_ value: Value) -> ProcessorFragment { Fragment() }

    @available(*, unavailable, message: "an empty block: a pipeline needs at least a store and, after it, a transport")
    public static func buildBlock() -> StoreAndTransportFragment { Fragment() }
}

// MARK: One line after another

extension PipelineBuilder {
    @available(
        *, unavailable, message: "a transport without a store: put a store, such as MemoryStore(), before the transport"
    )
    public static func buildPartialBlock(
        accumulated: ProcessorFragment, next: TransportFragment
    ) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable, message: "a processor after the store would see no event: put it before the store"
    )
    public static func buildPartialBlock(
        accumulated: StoreFragment, next: ProcessorFragment
    ) -> StoreFragment { Fragment() }

    @available(
        *, unavailable, message: "two stores in one route: keep one, or give each its own Route(\"name\") { … }"
    )
    public static func buildPartialBlock(
        accumulated: StoreFragment, next: StoreFragment
    ) -> StoreFragment { Fragment() }

    @available(
        *, unavailable, message: "two stores in one route: keep one, or give each its own Route(\"name\") { … }"
    )
    public static func buildPartialBlock(
        accumulated: StoreFragment, next: StoreAndTransportFragment
    ) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable,
        message: "a store beside routes: put the store and its transport into a Route(\"name\") { … } too"
    )
    public static func buildPartialBlock(
        accumulated: StoreFragment, next: RouteFragment
    ) -> RouteFragment { Fragment() }

    @available(
        *, unavailable, message: "a processor after the store would see no event: put it before the store"
    )
    public static func buildPartialBlock(
        accumulated: StoreAndTransportFragment, next: ProcessorFragment
    ) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable, message: "two stores in one route: keep one, or give each its own Route(\"name\") { … }"
    )
    public static func buildPartialBlock(
        accumulated: StoreAndTransportFragment, next: StoreFragment
    ) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable, message: "two stores in one route: keep one, or give each its own Route(\"name\") { … }"
    )
    public static func buildPartialBlock(
        accumulated: StoreAndTransportFragment, next: StoreAndTransportFragment
    ) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable,
        message: "two transports in one route: keep one, or give each a store in its own Route(\"name\") { … }"
    )
    public static func buildPartialBlock(
        accumulated: StoreAndTransportFragment, next: TransportFragment
    ) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable,
        message: "a store beside routes: put the store and its transport into a Route(\"name\") { … } too"
    )
    public static func buildPartialBlock(
        accumulated: StoreAndTransportFragment, next: RouteFragment
    ) -> RouteFragment { Fragment() }

    @available(
        *, unavailable,
        message: "a line after a transport that no store stands before: put a store before the transport"
    )
    public static func buildPartialBlock<Shape>(
        accumulated: TransportFragment, next: Fragment<Shape>
    ) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable,
        message: "a processor after a route would see no event: put it before the routes, or into one of them"
    )
    public static func buildPartialBlock(
        accumulated: RouteFragment, next: ProcessorFragment
    ) -> RouteFragment { Fragment() }

    @available(
        *, unavailable,
        message: "a store beside routes: put the store and its transport into a Route(\"name\") { … } too"
    )
    public static func buildPartialBlock(
        accumulated: RouteFragment, next: StoreFragment
    ) -> RouteFragment { Fragment() }

    @available(
        *, unavailable,
        message: "a store beside routes: put the store and its transport into a Route(\"name\") { … } too"
    )
    public static func buildPartialBlock(
        accumulated: RouteFragment, next: StoreAndTransportFragment
    ) -> RouteFragment { Fragment() }

    @available(
        *, unavailable, message: "a transport beside routes: put it, after a store, into a Route(\"name\") { … } too"
    )
    public static func buildPartialBlock(
        accumulated: RouteFragment, next: TransportFragment
    ) -> RouteFragment { Fragment() }
}

// MARK: Control flow

extension PipelineBuilder {
    @available(
        *, unavailable, message: "a store in an `if` without `else`: say in an `else` where events are kept otherwise"
    )
    public static func buildOptional(_ fragment: StoreFragment?) -> StoreFragment { Fragment() }

    @available(
        *, unavailable, message: "a store in an `if` without `else`: say in an `else` where events are kept otherwise"
    )
    public static func buildOptional(_ fragment: StoreAndTransportFragment?) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable, message: "a transport in an `if` without `else`: say in an `else` where events go otherwise"
    )
    public static func buildOptional(_ fragment: TransportFragment?) -> TransportFragment { Fragment() }

    @available(
        *, unavailable,
        message: "the branches of this `if` or `switch` end differently: let each end with the same kind of stage"
    )
    @_disfavoredOverload
    public static func buildEither<Shape>(first: Fragment<Shape>) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable,
        message: "the branches of this `if` or `switch` end differently: let each end with the same kind of stage"
    )
    @_disfavoredOverload
    public static func buildEither<Shape>(second: Fragment<Shape>) -> StoreAndTransportFragment { Fragment() }

    @available(
        *, unavailable, message: "stores and transports in a `for`: only processors and routes may come in any number"
    )
    @_disfavoredOverload
    public static func buildArray<Shape>(_ fragments: [Fragment<Shape>]) -> StoreAndTransportFragment { Fragment() }
}

// MARK: The end of the block

extension PipelineBuilder {
    @available(*, unavailable, message: "no store: end the block with a store and, after it, a transport")
    public static func buildFinalResult(_ fragment: ProcessorFragment) -> PipelinePlan {
        PipelinePlan(processors: [], routes: [])
    }

    @available(*, unavailable, message: "no transport: put one after the store, such as StdoutTransport()")
    public static func buildFinalResult(_ fragment: StoreFragment) -> PipelinePlan {
        PipelinePlan(processors: [], routes: [])
    }

    @available(*, unavailable, message: "no store: put one before the transport, such as MemoryStore()")
    public static func buildFinalResult(_ fragment: TransportFragment) -> PipelinePlan {
        PipelinePlan(processors: [], routes: [])
    }

    @available(*, unavailable, message: "no store: end the block with a store and, after it, a transport")
    public static func buildFinalResult(_ fragment: ProcessorFragment) -> RoutePlan { RoutePlan(fragment: Fragment()) }

    @available(*, unavailable, message: "no transport: put one after the store, such as StdoutTransport()")
    public static func buildFinalResult(_ fragment: StoreFragment) -> RoutePlan { RoutePlan(fragment: Fragment()) }

    @available(*, unavailable, message: "no store: put one before the transport, such as MemoryStore()")
    public static func buildFinalResult(_ fragment: TransportFragment) -> RoutePlan { RoutePlan(fragment: Fragment()) }

    @available(*, unavailable, message: "a route in a route: put routes beside each other, in the pipeline's block")
    public static func buildFinalResult(_ fragment: RouteFragment) -> RoutePlan { RoutePlan(fragment: Fragment()) }
}
