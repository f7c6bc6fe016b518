public import Sluice

extension HTTPTransport {
    /// Options of an ``HTTPTransport`` that you rarely need.
    ///
    /// ```swift
    /// HTTPTransport(to: collector, configuration: .init(gzip: false, sign: { $0.setHeader("X-Token", token()) }))
    /// ```
    public struct Configuration: Sendable {
        /// Whether bodies are compressed, if the format's backend accepts gzip.
        public var gzip: Bool
        /// How long a request of the system's client may take.
        public var timeouts: HTTPTimeouts
        /// The client that sends the requests; nil for the system's. Your own client enforces its own timeouts.
        public var client: (any HTTPClient)?
        /// The clocks for ``HTTPRequest/sendTime``.
        public var time: any TimeSource
        /// Corrects the times of events by the server's clock.
        public var clock: ClockCorrection?
        /// Changes each request last, for example to add a signature or a token. It sees the body as it is sent. The batch
        /// is retried if it throws.
        public var sign: (@Sendable (inout HTTPRequest) throws -> Void)?
        /// Receives one message if bodies should be compressed but the system has no zlib.
        public var onDiagnostic: (@Sendable (Diagnostic) -> Void)?

        var deflater: Deflater? = .system

        /// Creates a configuration. Every parameter sets the property of the same name.
        public init(
            gzip: Bool = true,
            timeouts: HTTPTimeouts = HTTPTimeouts(),
            client: (any HTTPClient)? = nil,
            time: any TimeSource = PipelineEnvironment.systemTime,
            clock: ClockCorrection? = nil,
            sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil,
            onDiagnostic: (@Sendable (Diagnostic) -> Void)? = nil
        ) {
            self.gzip = gzip
            self.timeouts = timeouts
            self.client = client
            self.time = time
            self.clock = clock
            self.sign = sign
            self.onDiagnostic = onDiagnostic
        }
    }
}

/// How long a request may take, measured by a monotonic clock.
public struct HTTPTimeouts: Sendable, Hashable {
    /// The timeout for the name lookup, the connection and the TLS handshake together.
    public var connect: Duration
    /// The timeout for the whole request, up to the last byte of the response.
    public var total: Duration

    /// Creates timeouts, which must be more than zero.
    public init(connect: Duration = .seconds(10), total: Duration = .seconds(30)) {
        self.connect = connect
        self.total = total
    }

    func check() throws(SluiceError) {
        guard connect > .zero, total > .zero else {
            throw SluiceError(.invalidArgument, "the timeouts of an HTTP request must be more than zero")
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, between 1 and about 24 days: a range that every system's timers support.
    var timerMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 1 }
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        let rest = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(seconds * 1_000 + rest))
    }
}
