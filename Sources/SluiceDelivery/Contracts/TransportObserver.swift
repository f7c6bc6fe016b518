/// Passes a transport's messages to the diagnostics of its route.
public struct TransportObserver: Sendable {
    private let onNote: @Sendable (_ message: String) -> Void

    /// Creates an observer. A test of your transport passes a closure that records the messages, or nothing.
    ///
    /// ```swift
    /// let observer = TransportObserver(onNote: { print($0) })
    /// try StdoutTransport().open(observer, in: PipelineEnvironment())
    /// ```
    ///
    /// - Parameter onNote: Called with each message, on the thread that calls ``note(_:)``.
    public init(onNote: @escaping @Sendable (_ message: String) -> Void = { _ in }) { self.onNote = onNote }

    /// Passes a message to the host's diagnostics, as ``Diagnostic/Kind/note``. Call this from any thread, with no
    /// lock held.
    ///
    /// ```swift
    /// observer.note("the certificate expires in 3 days: renew it")
    /// ```
    ///
    /// - Parameter message: The problem and how to solve it, without secrets and contents of events.
    public func note(_ message: String) { onNote(message) }
}
