/// What a pipeline takes from the world around it: time and randomness.
///
/// The default is the system's. A test or a simulation passes its own, so that every run is the same.
public struct PipelineEnvironment: Sendable {
    /// The clocks of events, of the delivery loop and of its back-off.
    public var time: any TimeSource

    /// 64 uniformly distributed bits a call; used for event ids and for jitter. Called from any thread.
    public var random: @Sendable () -> UInt64

    public init(
        time: any TimeSource = SystemTime(),
        random: @escaping @Sendable () -> UInt64 = PipelineEnvironment.systemRandom
    ) {
        self.time = time
        self.random = random
    }

    /// The operating system's generator, safe across `fork`.
    public static let systemRandom: @Sendable () -> UInt64 = { CurrentProcess.current.random() }
}
