package import Sluice
package import SluiceTesting

extension RecordingStore {
    /// A pipeline of these processors. It keeps its events in this store, and sends nothing.
    package func pipeline(
        in environment: PipelineEnvironment = PipelineEnvironment(), _ processors: any Processor...
    ) throws -> Pipeline {
        try Pipeline(environment: environment) {
            for processor in processors { processor }
            self
            NullTransport()
        }
    }

    /// A route of these processors. It keeps its events in this store, and sends nothing.
    package func route(_ name: String, _ processors: any Processor...) -> Route {
        Route(name) {
            for processor in processors { processor }
            self
            NullTransport()
        }
    }
}
