public import SluiceEvents
import SluiceLibC

extension Timestamp {
    /// The wall time of the system. A pipeline has clocks of its own, which tests replace: see ``PipelineEnvironment``.
    ///
    /// ```swift
    /// let yesterday = Timestamp(milliseconds: Timestamp.now.milliseconds - 86_400_000)
    /// ```
    public static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension Event {
    /// Creates an event with a new id.
    ///
    /// Use this initializer in your own `EventTracking`, and in tests of your processors:
    ///
    /// ```swift
    /// let event = Event(name: "Purchase", properties: ["sku": "A-7"])
    /// ```
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - time: The wall time at which the event happened, which the id contains; now by default.
    ///   - priority: The event's priority.
    ///   - distinctID: The user's id for the receiver.
    ///   - anonymousID: The id of a user who hasn't logged in.
    ///   - loginID: The id of a user who has logged in.
    ///   - properties: The event's properties.
    public init(
        name: String, time: Timestamp = .now, priority: Priority = .normal, distinctID: String? = nil,
        anonymousID: String? = nil, loginID: String? = nil, properties: Properties = [:]
    ) {
        self.init(
            id: .make(at: time), name: name, time: time, priority: priority, distinctID: distinctID,
            anonymousID: anonymousID, loginID: loginID, properties: properties)
    }
}
