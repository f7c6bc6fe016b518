public import Sluice
import SluiceGzip

extension HTTPTransport {
    /// Options of an ``HTTPTransport`` that you rarely need.
    ///
    /// ```swift
    /// let transport = HTTPTransport(
    ///     to: collector, configuration: .init(gzip: false, sign: { $0.setHeader("X-Token", token()) }))
    /// ```
    public struct Configuration: Sendable {
        /// Whether bodies are compressed, if the format's backend accepts gzip.
        public var gzip: Bool
        /// The timeout for the name lookup, the connection and the TLS handshake together, by a monotonic clock.
        public var connectTimeout: Duration
        /// The timeout for the whole request, up to the last byte of the response, by a monotonic clock.
        public var totalTimeout: Duration
        /// The client that sends the requests, or nil for the system's. Your own client enforces its own timeouts.
        public var client: (any HTTPClient)?
        /// Corrects the times of events by the server's clock, for devices whose clock is wrong. Off by default.
        ///
        /// ```swift
        /// let transport = HTTPTransport(
        ///     to: collector, configuration: .init(clockCorrection: .learned(keptIn: .file(stateDirectory))))
        /// ```
        ///
        /// The transport reads the server's time from the `Date` of each 2xx response. From the first response on, it
        /// sends every batch with the server's time: in the times of its events, and in ``HTTPRequest/sendTime``.
        /// Waiting events, including the events of earlier launches, are corrected too. Stored events keep their time.
        ///
        /// Nothing changes while the wall clock agrees with the server's `Date`, which has a resolution of one second.
        /// The skew stays until a response contradicts it or the wall clock is set, so a retry usually has the same times. A
        /// `Date` outside the years 2025 to 2099 is ignored. After a restart of the machine, the skew of an earlier launch
        /// counts only if the wall clock shows a time that was over on the server.
        ///
        /// A corrected event has the property `$time_correction`, the milliseconds that were added. An event that
        /// already has this property isn't corrected. Set it to 0 for an event whose time isn't this device's.
        ///
        /// The skew is the one at the time of sending. If the wall clock is set between `track` and sending, events
        /// from before the change are sent with a wrong time. This happens on a device that gets its time from the
        /// network after its start.
        public var clockCorrection: ClockCorrection
        /// Changes each request last, for example to add a signature or a token. It sees the body as it is sent. If it
        /// throws, the batch is retried.
        ///
        /// ```swift
        /// let configuration = HTTPTransport.Configuration(sign: { request in
        ///     request.setHeader("X-Signature", try signature(of: request.body))
        /// })
        /// ```
        ///
        /// The closure can wait for a token. If the receiver answers 401, the closure is called once more, with
        /// ``HTTPRequest/wasUnauthorized``. If it then changes the request, the request is sent immediately, once:
        ///
        /// ```swift
        /// actor Tokens {
        ///     func current(isRefused: Bool) -> String { secret }
        /// }
        /// let tokens = Tokens()
        /// let configuration = HTTPTransport.Configuration(sign: { request in
        ///     let token = await tokens.current(isRefused: request.wasUnauthorized)
        ///     request.setHeader("Authorization", "Bearer \(token)")
        /// })
        /// ```
        public var sign: (@Sendable (inout HTTPRequest) async throws -> Void)?

        /// Loads the compression with the first long body.
        var deflater: @Sendable () -> Deflater? = { .system }

        /// Creates a configuration. Every parameter sets the property of the same name.
        public init(
            gzip: Bool = true, connectTimeout: Duration = .seconds(10), totalTimeout: Duration = .seconds(30),
            client: (any HTTPClient)? = nil, clockCorrection: ClockCorrection = .off,
            sign: (@Sendable (inout HTTPRequest) async throws -> Void)? = nil
        ) {
            self.gzip = gzip
            self.connectTimeout = connectTimeout
            self.totalTimeout = totalTimeout
            self.client = client
            self.clockCorrection = clockCorrection
            self.sign = sign
        }

        /// Whether the times of events are corrected: see ``Configuration/clockCorrection``.
        public struct ClockCorrection: Sendable {
            /// Nil if it is off.
            let persistence: Persistence?

            /// Events are sent with the times that they have.
            public static let off = ClockCorrection(persistence: nil)

            /// Times are corrected by the skew that the responses show.
            ///
            /// - Parameter persistence: Where the skew is kept for the next launch, as the item `clock`. Pass `.memory` to
            ///   learn it in each launch.
            /// - Returns: The setting.
            public static func learned(keptIn persistence: Persistence) -> ClockCorrection {
                ClockCorrection(persistence: persistence)
            }
        }

        var timeouts: HTTPTimeouts { HTTPTimeouts(connect: connectTimeout, total: totalTimeout) }
    }
}

/// The time limits of a request.
struct HTTPTimeouts: Sendable, Hashable {
    var connect = Duration.seconds(10)
    var total = Duration.seconds(30)

    func check() throws(SluiceError) {
        try SluiceError.require(
            connect > .zero && total > .zero, "the timeouts of an HTTP request must be more than zero")
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, between 1 and about 24 days: a range that every system's timers support.
    var timerMilliseconds: Int { Int(min(max(1, inMilliseconds.rounded(.up)), 2_000_000_000)) }
}
