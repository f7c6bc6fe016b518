#if canImport(Darwin)
    import Foundation
    import Sluice

    /// Collects the answers of a session's tasks, and refuses what ``HTTPClient`` rules out.
    final class SessionDelegate: NSObject, URLSessionDataDelegate {
        private struct Waiting {
            let continuation: CheckedContinuation<HTTPAnswer, any Error>
            var answer: HTTPAnswer?
        }

        private let waiting = Locked<[Int: Waiting]>([:])

        func wait(for task: Int, _ continuation: CheckedContinuation<HTTPAnswer, any Error>) {
            waiting.withLock { $0[task] = Waiting(continuation: continuation) }
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
            let answer = HTTPAnswer(status: response.statusCode, headers: headers)
            waiting.withLock { $0[dataTask.taskIdentifier]?.answer = answer }
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            let finished = waiting.withLock { waiting -> (Waiting, HTTPAnswer)? in
                guard let entry = waiting[dataTask.taskIdentifier], var answer = entry.answer else { return nil }
                let room = HTTPAnswer.bodyLimit - answer.body.count
                answer.body += data.prefix(room)
                guard data.count > room else {
                    waiting[dataTask.taskIdentifier]?.answer = answer
                    return nil
                }
                answer.isWhole = false
                waiting[dataTask.taskIdentifier] = nil
                return (entry, answer)
            }
            guard let (entry, answer) = finished else { return }
            dataTask.cancel()
            entry.continuation.resume(returning: answer)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            guard let entry = waiting.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
            entry.continuation.resume(with: SessionDelegate.result(entry.answer, error))
        }

        private static func result(_ answer: HTTPAnswer?, _ error: (any Error)?) -> Result<HTTPAnswer, any Error> {
            let code = (error as? URLError)?.code
            if code == .cancelled { return .failure(CancellationError()) }
            if error == nil, let answer { return .success(answer) }
            // A server that refuses a body without reading all of it may reset the connection behind its answer.
            if var answer, answer.status >= 300 {
                answer.isWhole = false
                return .success(answer)
            }
            // The error itself holds the URL, which may hold secrets; its number does not.
            let reason = code.map { "URLError \($0.rawValue)" } ?? "no answer"
            return .failure(SluiceError(.inputOutput, "the HTTP request failed: \(reason)"))
        }
    }
#endif
