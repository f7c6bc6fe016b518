#if !canImport(Darwin)
    import CSluiceCurl
    import Sluice

    /// The system's client.
    typealias SystemClient = CurlClient

    /// A client that uses the system's libcurl on a thread of its own. The library is loaded on first use.
    final class CurlClient: HTTPClient {
        private let timeouts: HTTPTimeouts
        // Set once by `open`, and freed by `deinit`. A caller retains the client, so the pointer stays valid during
        // each call.
        private let handle = Locked<OpaquePointer?>(nil)

        init(_ timeouts: HTTPTimeouts) {
            self.timeouts = timeouts
        }

        deinit {
            if let handle = handle.withLock({ $0 }) { sluice_curl_client_release(handle) }
        }

        func check() throws(SluiceError) {
            _ = try opened()
        }

        private func opened() throws(SluiceError) -> OpaquePointer {
            try handle.withLock { (handle) throws(SluiceError) in
                if let handle { return handle }
                try CurlClient.load()
                guard let created = sluice_curl_client_create() else {
                    throw SluiceError(.inputOutput, "libcurl can't be started; check the available memory")
                }
                handle = created
                return created
            }
        }

        private static func load() throws(SluiceError) {
            switch sluice_curl_load({ occupyStandardDescriptors() }) {
            case SLUICE_CURL_AVAILABLE: return
            case SLUICE_CURL_MISSING:
                let reason = sluice_curl_load_error().map { " (\(String(cString: $0)))" } ?? ""
                throw SluiceError(
                    .missingLibrary,
                    "can't load libcurl.so.4\(reason); install it (Debian and Ubuntu: libcurl4, Alpine: libcurl)")
            case SLUICE_CURL_UNLINKED:
                throw SluiceError(
                    .missingLibrary,
                    "this program is linked statically, and can't load libcurl: link libcurl into it, as "
                        + "Docs/HTTPTransport.md shows, or link the program dynamically")
            case SLUICE_CURL_TOO_OLD:
                throw SluiceError(
                    .missingLibrary, "needs libcurl 7.68 or later; update the older one on this system")
            default:
                throw SluiceError(.missingLibrary, "this system's libcurl can't be initialized; reinstall it")
            }
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try Task.checkCancellation()
            let handle = CurlHandle(pointer: try opened())
            let transfer = CurlTransfer(handle)
            let response = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    transfer.start(request, timeouts, continuation)
                }
            } onCancel: {
                transfer.cancel()
            }
            // The handle must outlive the transfer, even if the owner has already released this client.
            return withExtendedLifetime(self) { response }
        }
    }
#endif
