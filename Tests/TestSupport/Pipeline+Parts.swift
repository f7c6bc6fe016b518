package import Sluice
import SluiceMemory
package import SluiceTesting

extension Pipeline {
    /// A pipeline of these processors, a store and a transport. By default, the store is in memory, and the transport accepts
    /// everything.
    package static func with(
        _ processors: (any Processor)?..., in store: any Store = MemoryStore(),
        to transport: any Transport = NullTransport(), delivery: DeliveryPolicy = .standard,
        maximumEventBytes: Int = 1_000_000, environment: PipelineEnvironment = PipelineEnvironment(),
        onDiagnostic: @escaping @Sendable (Diagnostic) -> Void = { _ in },
        onTrace: (@Sendable (EventTrace) -> Void)? = nil
    ) throws -> Pipeline {
        try Pipeline(
            delivery: delivery, maximumEventBytes: maximumEventBytes, environment: environment,
            onDiagnostic: onDiagnostic, onTrace: onTrace
        ) {
            for processor in processors { processor }
            store
            transport
        }
    }

    /// A pipeline with the route `a`, and with these processors in the route or above it.
    ///
    /// - Parameters:
    ///   - above: The processors that stand above them in any case.
    ///   - own: The processors that stand below them, in the route.
    package static func with(
        _ processors: [any Processor], inRoute isInRoute: Bool, above: [any Processor] = [], own: [any Processor] = [],
        in store: any Store = MemoryStore(), to transport: any Transport = NullTransport(),
        onTrace: (@Sendable (EventTrace) -> Void)? = nil
    ) throws -> Pipeline {
        try Pipeline(onTrace: onTrace) {
            above
            if !isInRoute { processors }
            Route("a") {
                if isInRoute { processors }
                own
                store
                transport
            }
        }
    }
}

extension Route {
    /// A route of these processors, a store and a transport, with the defaults of a pipeline.
    package init(
        _ name: String, _ processors: (any Processor)?..., in store: any Store = MemoryStore(),
        to transport: any Transport = NullTransport(), delivery: DeliveryPolicy? = nil
    ) {
        self.init(name, delivery: delivery) {
            for processor in processors { processor }
            store
            transport
        }
    }
}

extension TestPipeline {
    /// A pipeline of these processors.
    package static func with(
        _ processors: (any Processor)?..., time: VirtualTime = VirtualTime()
    ) throws -> TestPipeline {
        try TestPipeline(time: time) { for processor in processors { processor } }
    }
}
