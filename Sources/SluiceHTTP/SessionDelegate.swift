#if canImport(Darwin)
    import Foundation
    import Sluice

    /// Collects the responses of a session's tasks. It doesn't follow redirects and reads a limited body.
    final class SessionDelegate: NSObject, URLSessionDataDelegate {
        private struct Waiting {
            let continuation: CheckedContinuation<HTTPResponse, any Error>
            var response: HTTPResponse?
        }

        private let waiting = Locked<[Int: Waiting]>([:])

        func wait(for task: Int, _ continuation: CheckedContinuation<HTTPResponse, any Error>) {
            waiting.withLock { $0[task] = Waiting(continuation: continuation) }
        }

        func cancel(_ task: URLSessionTask) {
            task.cancel()
            let entry = waiting.withLock { $0.removeValue(forKey: task.taskIdentifier) }
            entry?.continuation.resume(throwing: CancellationError())
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            guard let response = response as? HTTPURLResponse else {
                completionHandler(.cancel)
                return
            }
            let headers = response.allHeaderFields.compactMap { name, value in
                (name as? String).map { (name: $0, value: "\(value)") }
            }
            let begun = HTTPResponse(status: response.statusCode, headers: headers)
            waiting.withLock { $0[dataTask.taskIdentifier]?.response = begun }
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            let finished = waiting.withLock { waiting -> (Waiting, HTTPResponse)? in
                guard let entry = waiting[dataTask.taskIdentifier], var response = entry.response else { return nil }
                let room = HTTPResponse.bodyLimit - response.body.count
                response.body += data.prefix(room)
                guard data.count > room else {
                    waiting[dataTask.taskIdentifier]?.response = response
                    return nil
                }
                response.isComplete = false
                waiting[dataTask.taskIdentifier] = nil
                return (entry, response)
            }
            guard let (entry, response) = finished else { return }
            dataTask.cancel()
            entry.continuation.resume(returning: response)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            guard let entry = waiting.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
            entry.continuation.resume(with: SessionDelegate.result(entry.response, error))
        }

        private static func result(_ response: HTTPResponse?, _ error: (any Error)?) -> Result<HTTPResponse, any Error>
        {
            let code = (error as? URLError)?.code
            if code == .cancelled { return .failure(CancellationError()) }
            if error == nil, let response { return .success(response) }
            // A server that refuses a body without reading all of it may reset the connection after its response.
            if var response, response.status >= 300 {
                response.isComplete = false
                return .success(response)
            }
            // The error contains the URL, which may contain secrets. Its number doesn't.
            let reason = code.map { "URLError \($0.rawValue)" } ?? "no response"
            return .failure(SluiceError(.inputOutput, "the HTTP request failed: \(reason)"))
        }
    }
#endif
