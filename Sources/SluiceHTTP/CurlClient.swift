#if !canImport(Darwin)
    import CSluiceCurl
    import Sluice

    /// The system's client.
    typealias SystemClient = CurlClient

    /// A client that uses the system's libcurl. The library is loaded on first use.
    ///
    /// A request blocks a thread until its response is complete: the thread of the worker that sends a batch, or one of its
    /// own for any other caller.
    final class CurlClient: HTTPClient {
        private let timeouts: HTTPTimeouts
        private let time: Locked<any TimeSource>
        /// The established connections that no request uses.
        private let kept = Locked<[CurlConnection]>([])

        /// An older connection is replaced, to look up the server's name again. A connection that is always in use would
        /// otherwise lead to the old address for as long as that responds.
        private static let greatestAge = Duration.seconds(300)

        /// Connections age by the transport's clocks.
        init(_ timeouts: HTTPTimeouts, _ time: Locked<any TimeSource> = Locked(PipelineEnvironment.systemTime)) {
            self.timeouts = timeouts
            self.time = time
        }

        func check() throws(SluiceError) {
            let advice: String
            switch sluice_curl_load({ occupyStandardDescriptors() }) {
            case SLUICE_CURL_AVAILABLE: return
            case SLUICE_CURL_MISSING:
                let reason = sluice_curl_load_error().map { " (\(String(cString: $0)))" } ?? ""
                advice = "can't load libcurl.so.4\(reason); install it (Debian and Ubuntu: libcurl4, Alpine: libcurl)"
            case SLUICE_CURL_UNLINKED:
                advice =
                    "this program is linked statically, and can't load libcurl: link libcurl into it, as "
                    + "Docs/HTTPTransport.md shows, or link the program dynamically"
            case SLUICE_CURL_TOO_OLD: advice = "needs libcurl 7.68 or later; update the older one on this system"
            default: advice = "this system's libcurl can't be initialized; reinstall it"
            }
            throw SluiceError(.missingLibrary, advice)
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try Task.checkCancellation()
            let connection = try connection()
            let number = connection.begin()
            return try await withTaskCancellationHandler {
                if isCalledByWorker { return try send(request, over: connection) }
                return try await Task.runningOnOwnThread(hasThreads: true) {
                    Result { try self.send(request, over: connection) }
                }.get()
            } onCancel: {
                connection.cancel(number)
            }
        }

        /// Whether the current thread has nothing else to do before the response arrives. A transport around this client's
        /// may run other tasks in the same thread, such as a timeout.
        private var isCalledByWorker: Bool {
            (CurrentSend.transport as? HTTPTransport).map { $0.client as AnyObject === self } ?? false
        }

        private func connection() throws(SluiceError) -> CurlConnection {
            let now = time.withLock(\.self).continuousTime()
            while let connection = kept.withLock({ $0.popLast() }) {
                if connection.isKept, now - connection.created < CurlClient.greatestAge { return connection }
            }
            try check()
            return try CurlConnection(created: now)
        }

        private func send(_ request: HTTPRequest, over connection: CurlConnection) throws -> HTTPResponse {
            let response = try connection.send(request, timeouts)
            // A route has at most three requests in flight: there is no use for more connections, nor for closed ones.
            if connection.isKept { kept.withLock { if $0.count < 4 { $0.append(connection) } } }
            return response
        }
    }
#endif
