extension PluginContext {
    /// The position of the plugin.
    package final class Place: Sendable {
        // nonisolated(unsafe): a weak reference is safe to read from any thread, and this one is never replaced.
        nonisolated(unsafe) weak private(set) var chain: Chain?
        let index: Int
        let environment: PipelineEnvironment
        /// Whether the pipeline is built.
        let isOpen: Bool

        init(_ chain: Chain?, _ index: Int, _ environment: PipelineEnvironment, isOpen: Bool) {
            self.chain = chain
            (self.index, self.environment, self.isOpen) = (index, environment, isOpen)
        }
    }

    /// Events that move with the plugin to its next pipeline.
    struct Held {
        /// The number of events that the plugin holds.
        var count = 0
        /// Events that were lost without a pipeline. The next one counts them.
        var lost: [DropReason: Int] = [:]
    }
}
