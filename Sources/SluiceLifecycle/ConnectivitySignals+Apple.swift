#if canImport(Network)
    import Dispatch
    import Network
    public import Sluice

    /// Reports to a pipeline whether there is a network, from the first answer on and at each change: delivery then retries
    /// at once, and `AutoProperties` looks at the network again.
    ///
    /// Hold it for as long as it is to report. It does not keep the pipeline alive.
    public final class ConnectivitySignals: Sendable {
        private let monitor = NWPathMonitor()

        public init(to pipeline: Pipeline) {
            monitor.pathUpdateHandler = { [weak pipeline] path in
                let connectivity: Signal.Connectivity =
                    path.status != .satisfied ? .unavailable : path.isExpensive ? .metered : .available
                // Signals of one pipeline come one after the other; those of the app come on the main thread.
                DispatchQueue.main.async { [weak pipeline] in pipeline?.signal(.connectivity(connectivity)) }
            }
            monitor.start(queue: DispatchQueue(label: "sluice.connectivity"))
        }

        deinit {
            monitor.cancel()
        }
    }
#endif
