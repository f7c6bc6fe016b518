#if !canImport(Darwin)
    import CSluiceCurl
    import Sluice

    // @unchecked: the C functions that take the pointer can be called from any thread.
    struct CurlHandle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// A request in flight in libcurl. You can cancel it at any time, even before it starts.
    final class CurlTransfer: Sendable {
        private struct State {
            var number: UInt64 = 0
            var isCancelled = false
        }

        private let handle: CurlHandle
        private let state = Locked(State())

        init(_ handle: CurlHandle) {
            self.handle = handle
        }

        func start(
            _ request: HTTPRequest,
            _ timeouts: HTTPTimeouts,
            _ continuation: CheckedContinuation<HTTPResponse, any Error>
        ) {
            let context = Unmanaged.passRetained(Waiting(request.body, continuation))
            let number = CurlTransfer.withCRequest(request, timeouts) { request in
                sluice_curl_start(handle.pointer, request, completed, context.toOpaque())
            }
            guard number != 0 else {
                context.release()
                continuation.resume(throwing: SluiceError(.inputOutput, "the HTTP request could not be started"))
                return
            }
            let isCancelled = state.withLock { state in
                state.number = number
                return state.isCancelled
            }
            if isCancelled { sluice_curl_cancel(handle.pointer, number) }
        }

        func cancel() {
            let number = state.withLock { state in
                state.isCancelled = true
                return state.number
            }
            if number != 0 { sluice_curl_cancel(handle.pointer, number) }
        }

        private static func withCRequest(
            _ request: HTTPRequest, _ timeouts: HTTPTimeouts, _ body: (UnsafePointer<sluice_curl_request>) -> UInt64
        ) -> UInt64 {
            // libcurl omits a header with a blank value, unless a semicolon replaces the colon.
            let headers = request.headers.map { name, value in
                value.allSatisfy { " \t".contains($0) } ? "\(name);\n" : "\(name): \(value)\n"
            }
            return request.method.withCString { method in
                request.url.withCString { url in
                    headers.joined().withCString { headers in
                        var request = sluice_curl_request(
                            method: method, url: url, headers: headers, read_body: readBody,
                            body_count: request.body.count, connect_milliseconds: timeouts.connect.timerMilliseconds,
                            total_milliseconds: timeouts.total.timerMilliseconds)
                        return body(&request)
                    }
                }
            }
        }
    }

    private final class Waiting: Sendable {
        let body: [UInt8]
        let continuation: CheckedContinuation<HTTPResponse, any Error>

        init(_ body: [UInt8], _ continuation: CheckedContinuation<HTTPResponse, any Error>) {
            self.body = body
            self.continuation = continuation
        }
    }

    private func readBody(
        _ context: UnsafeMutableRawPointer?, _ offset: Int, _ target: UnsafeMutableRawPointer?, _ count: Int
    ) {
        guard let context, let target else { return }
        Unmanaged<Waiting>.fromOpaque(context).takeUnretainedValue().body.withUnsafeBytes { body in
            UnsafeMutableRawBufferPointer(start: target, count: count)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: body[offset..<offset + count]))
        }
    }

    private func completed(_ context: UnsafeMutableRawPointer?, _ response: UnsafePointer<sluice_curl_response>?) {
        guard let context, let response else { return }
        let waiting = Unmanaged<Waiting>.fromOpaque(context).takeRetainedValue()
        waiting.continuation.resume(with: result(of: response.pointee))
    }

    private func result(of response: sluice_curl_response) -> Result<HTTPResponse, any Error> {
        if response.outcome == SLUICE_CURL_CANCELLED { return .failure(CancellationError()) }
        let isComplete = response.outcome == SLUICE_CURL_COMPLETE
        // A server that refuses a body without reading all of it may reset the connection after its response.
        let isRefusal = response.outcome == SLUICE_CURL_FAILED && response.status >= 300
        guard isComplete || isRefusal || response.outcome == SLUICE_CURL_CUT_SHORT else {
            let reason = response.reason.map { String(cString: $0) } ?? "no reason given"
            return .failure(SluiceError(.inputOutput, "the HTTP request failed: \(reason)"))
        }
        return .success(
            HTTPResponse(
                status: Int(response.status),
                headers: HTTPResponse.headers(
                    ofHead: UnsafeBufferPointer(start: response.head, count: response.head_count)),
                body: Array(UnsafeBufferPointer(start: response.body, count: response.body_count)),
                isComplete: isComplete))
    }
#endif
