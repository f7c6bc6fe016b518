#if !canImport(Darwin)
    import CSluiceCurl
    import Sluice

    // @unchecked: the C functions that take it are safe from any thread.
    struct CurlHandle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// One request on its way through libcurl. It may be cancelled at any time, even before it is started.
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
            _ deadlines: HTTPDeadlines,
            _ continuation: CheckedContinuation<HTTPAnswer, any Error>
        ) {
            let context = Unmanaged.passRetained(Waiting(continuation))
            let number = CurlTransfer.withCRequest(request, deadlines) { request in
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
            _ request: HTTPRequest, _ deadlines: HTTPDeadlines, _ body: (UnsafePointer<sluice_curl_request>) -> UInt64
        ) -> UInt64 {
            // libcurl sends no header at all for a value of nothing but spaces, unless a semicolon asks for an empty one.
            let headers = request.headers.map { name, value in
                value.allSatisfy { " \t".contains($0) } ? "\(name);\n" : "\(name): \(value)\n"
            }
            return request.method.withCString { method in
                request.url.withCString { url in
                    headers.joined().withCString { headers in
                        request.body.withUnsafeBufferPointer { bytes in
                            var request = sluice_curl_request(
                                method: method, url: url, headers: headers, body: bytes.baseAddress,
                                body_count: bytes.count, connect_milliseconds: deadlines.connect.timerMilliseconds,
                                total_milliseconds: deadlines.total.timerMilliseconds)
                            return body(&request)
                        }
                    }
                }
            }
        }
    }

    private final class Waiting: Sendable {
        let continuation: CheckedContinuation<HTTPAnswer, any Error>

        init(_ continuation: CheckedContinuation<HTTPAnswer, any Error>) {
            self.continuation = continuation
        }
    }

    private func completed(_ context: UnsafeMutableRawPointer?, _ answer: UnsafePointer<sluice_curl_answer>?) {
        guard let context, let answer else { return }
        let waiting = Unmanaged<Waiting>.fromOpaque(context).takeRetainedValue()
        waiting.continuation.resume(with: result(of: answer.pointee))
    }

    private func result(of answer: sluice_curl_answer) -> Result<HTTPAnswer, any Error> {
        if answer.outcome == SLUICE_CURL_CANCELLED { return .failure(CancellationError()) }
        let isWhole = answer.outcome == SLUICE_CURL_COMPLETE
        // A server that refuses a body without reading all of it may reset the connection behind its answer.
        let isRefusal = answer.outcome == SLUICE_CURL_FAILED && answer.status >= 300
        guard isWhole || isRefusal || answer.outcome == SLUICE_CURL_CUT_SHORT else {
            let reason = answer.reason.map { String(cString: $0) } ?? "no reason given"
            return .failure(SluiceError(.inputOutput, "the HTTP request failed: \(reason)"))
        }
        return .success(
            HTTPAnswer(
                status: Int(answer.status),
                headers: HTTPAnswer.headers(ofHead: UnsafeBufferPointer(start: answer.head, count: answer.head_count)),
                body: Array(UnsafeBufferPointer(start: answer.body, count: answer.body_count)),
                isWhole: isWhole))
    }
#endif
