#if !canImport(Darwin)
    import CSluiceCurl
    import Sluice

    /// The client that this system has.
    typealias SystemClient = CurlClient

    /// The system's libcurl, loaded when it is first needed, on one thread of its own.
    final class CurlClient: HTTPClient {
        private let deadlines: HTTPDeadlines
        // Set once by `open` and freed by `deinit`, between which every caller holds the client.
        private let handle = Locked<OpaquePointer?>(nil)

        init(_ deadlines: HTTPDeadlines) {
            self.deadlines = deadlines
        }

        deinit {
            if let handle = handle.withLock({ $0 }) { sluice_curl_client_release(handle) }
        }

        func open() throws(SluiceError) {
            _ = try opened()
        }

        private func opened() throws(SluiceError) -> OpaquePointer {
            try handle.withLock { (handle) throws(SluiceError) in
                if let handle { return handle }
                try CurlClient.load()
                guard let created = sluice_curl_client_create() else {
                    throw SluiceError(.inputOutput, "libcurl could not be started; is memory short?")
                }
                handle = created
                return created
            }
        }

        private static func load() throws(SluiceError) {
            switch sluice_curl_load() {
            case SLUICE_CURL_AVAILABLE: return
            case SLUICE_CURL_MISSING:
                throw SluiceError(
                    .missingLibrary,
                    "HTTPTransport needs libcurl.so.4; install it (Debian and Ubuntu: libcurl4, Alpine: libcurl)")
            case SLUICE_CURL_TOO_OLD:
                throw SluiceError(.missingLibrary, "HTTPTransport needs libcurl 7.68 or later; this system's is older")
            default:
                throw SluiceError(.missingLibrary, "this system's libcurl cannot be initialized")
            }
        }

        func send(_ request: HTTPRequest) async throws -> HTTPAnswer {
            try Task.checkCancellation()
            let handle = CurlHandle(pointer: try opened())
            let transfer = CurlTransfer(handle)
            let answer = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    transfer.start(request, deadlines, continuation)
                }
            } onCancel: {
                transfer.cancel()
            }
            // The handle must outlive the transfer, however soon its owner lets go of this client.
            return withExtendedLifetime(self) { answer }
        }
    }
#endif
