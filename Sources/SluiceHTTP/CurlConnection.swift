#if !canImport(Darwin)
    import CSluiceCurl
    import Sluice

    /// A connection of libcurl, for one request at a time.
    // @unchecked: one task at a time uses a connection, and any thread may call `cancel`.
    final class CurlConnection: @unchecked Sendable {
        private let pointer: OpaquePointer
        private let creator = CreatingProcess()
        /// By the continuous clock.
        let created: Duration
        /// Whether the connection can be kept: the last response has ended, and no more bytes of it can follow.
        private(set) var isClean = false

        init(created: Duration) throws(SluiceError) {
            guard let pointer = sluice_curl_create() else {
                throw SluiceError(.inputOutput, "libcurl can't be started; check the available memory")
            }
            self.pointer = pointer
            self.created = created
        }

        deinit {
            // Closing TLS in the child of a fork would end the connection of its parent.
            if !creator.isParent { sluice_curl_free(pointer) }
        }

        /// Whether a connection that was kept can be used for another request.
        var isKept: Bool { isClean && !creator.isParent && sluice_curl_is_kept(pointer) }

        /// - Returns: The number of the next request, for `cancel`.
        func begin() -> UInt64 { sluice_curl_begin(pointer) }

        /// Ends the request with this number soon. If it isn't sent yet, it ends when it is.
        func cancel(_ number: UInt64) { sluice_curl_cancel(pointer, number) }

        /// Sends the request that has begun, and blocks the thread until there is a response.
        func send(_ request: HTTPRequest, _ timeouts: HTTPTimeouts) throws -> HTTPResponse {
            isClean = false
            var response = ReceivedResponse()
            let result = perform(request, timeouts, &response)
            if result.is_cancelled { throw CancellationError() }
            let failure = failure(result, response)
            // A server that refuses a body without reading all of it may reset the connection after its response.
            let isRefusal = response.isHeadComplete && response.status >= 300
            if let failure, !isRefusal, !response.isCut || !result.is_confirmed {
                throw SluiceError(.inputOutput, "the HTTP request failed: \(failure)")
            }
            let isComplete = failure == nil
            // A connection is clean only after a 2xx that followed the whole request. Otherwise, bytes that arrive later could
            // be taken for the response to the next request.
            isClean = isComplete && 200...299 ~= response.status && !result.is_early && !response.hasExcess
            return HTTPResponse(
                status: response.status, headers: response.headers, body: response.body, isComplete: isComplete)
        }

        private func failure(_ result: sluice_curl_result, _ response: ReceivedResponse) -> String? {
            if let refusal = response.refusal { return refusal }
            let isEarly = response.isHeadComplete && response.status < 300 && !result.is_confirmed
            if let failure = result.failure, !isEarly || !response.isCut { return String(cString: failure) }
            if !response.isHeadComplete { return "the response has no complete head" }
            return isEarly ? "the server responded before it had received the whole request" : nil
        }

        private func perform(
            _ request: HTTPRequest, _ timeouts: HTTPTimeouts, _ response: inout ReceivedResponse
        ) -> sluice_curl_result {
            // libcurl omits a header without a value, unless a semicolon replaces the colon.
            let headers = request.headers.map { $1.isEmpty ? "\($0);\n" : "\($0): \($1)\n" }.joined()
            return perform(
                request.method, request.url, headers, request.body, request.body.count, timeouts, &response)
        }

        /// The caller passes its texts as pointers, which are valid until this returns.
        private func perform(
            _ method: UnsafePointer<CChar>, _ url: UnsafePointer<CChar>, _ headers: UnsafePointer<CChar>,
            _ body: UnsafeRawPointer, _ count: Int, _ timeouts: HTTPTimeouts,
            _ response: UnsafeMutablePointer<ReceivedResponse>
        ) -> sluice_curl_result {
            var request = sluice_curl_request(
                method: method, url: url, headers: headers, body: body, body_count: count,
                connect_milliseconds: timeouts.connect.timerMilliseconds,
                total_milliseconds: timeouts.total.timerMilliseconds,
                receive: { context, isHead, bytes, count in
                    guard let response = context?.assumingMemoryBound(to: ReceivedResponse.self) else { return false }
                    let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
                    return isHead ? response.pointee.takeHead(bytes) : response.pointee.takeBody(bytes)
                }, context: response)
            return sluice_curl_send(pointer, &request)
        }
    }
#endif
