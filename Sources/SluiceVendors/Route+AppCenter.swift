public import Sluice

extension Route {
    /// App Center's two channels: a route for normal events, and one for critical events, which are sent by themselves.
    ///
    /// The block is called for each route. Use the route's name in the path of its store:
    ///
    /// ```swift
    /// let pipeline = try Pipeline {
    ///     Route.appCenter(interval: .seconds(60)) { name in
    ///         JSONLStore(at: "\(queueDirectory)/\(name)")
    ///         HTTPTransport(to: collector)
    ///     }
    /// }
    /// ```
    ///
    /// Both routes have ``Sluice/DeliveryPolicy/appCenter``: batches of 50, at most three at a time, and its retries. Normal
    /// events are sent after 6 s or when 50 wait. With a longer interval, only the interval counts, from the oldest event of
    /// this launch. Events of earlier launches are sent when the pipeline is built, whatever the interval is. Critical events
    /// are sent within 3 s, or when 50 wait.
    ///
    /// ``Sluice/Pipeline/setFlush(count:interval:)`` changes both routes. If you pass a longer interval, also pass a
    /// `count` of `.max`. In the ledger, each event counts as ``Sluice/DropReason/filtered`` in the other route.
    ///
    /// - Parameters:
    ///   - interval: The longest time that a normal event waits: 6 s to a day.
    ///   - stages: Returns the processors, the store and the transport of the route with this name: `normal` or `critical`.
    /// - Returns: The two routes.
    /// - Throws: Errors thrown by the block.
    @PipelineBuilder
    public static func appCenter(
        interval: Duration = .seconds(6),
        @PipelineBuilder _ stages: (_ name: String) throws -> StoreAndTransportFragment
    ) rethrows -> RouteFragment {
        try Route("normal", delivery: normal(interval)) {
            OnlyPriority(priority: .normal)
            try stages("normal")
        }
        try Route("critical", delivery: .appCenter) {
            OnlyPriority(priority: .critical)
            try stages("critical")
        }
    }

    private static func normal(_ interval: Duration) -> DeliveryPolicy {
        var policy = DeliveryPolicy.appCenter
        if interval > policy.flushInterval { policy.flushCount = .max }
        policy.flushInterval = interval
        return policy
    }
}

/// Drops the events of all other priorities.
private struct OnlyPriority: Processor {
    let priority: Event.Priority

    func process(_ event: inout Event) -> Disposition { event.priority == priority ? .keep : .drop(.filtered) }
}
