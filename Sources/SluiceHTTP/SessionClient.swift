#if canImport(Darwin)
    import Foundation
    import Sluice

    /// The system's client.
    typealias SystemClient = SessionClient

    /// `URLSession` without cookies, cache and credentials on disk.
    final class SessionClient: HTTPClient {
        private let delegate: SessionDelegate
        private let session: URLSession

        /// The system decides how long a connection is kept.
        init(_ timeouts: HTTPTimeouts, _: Locked<any TimeSource> = Locked(PipelineEnvironment.systemTime)) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieAcceptPolicy = .never
            configuration.httpShouldSetCookies = false
            configuration.urlCredentialStorage = nil
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            // It doesn't wait for connectivity by default. The delivery has its own rules for retries.
            configuration.timeoutIntervalForRequest = timeouts.total.timeInterval
            configuration.timeoutIntervalForResource = timeouts.total.timeInterval
            delegate = SessionDelegate()
            session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        }

        deinit {
            // A session retains its delegate until it is invalidated.
            session.invalidateAndCancel()
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try Task.checkCancellation()
            guard let url = URL(string: request.url) else {
                throw SluiceError(.invalidArgument, "the system can't parse the URL; check it")
            }
            var urlRequest = URLRequest(url: url)
            urlRequest.httpMethod = request.method
            urlRequest.httpBody = Data(request.body)
            urlRequest.httpShouldHandleCookies = false
            for (name, value) in request.headers {
                urlRequest.addValue(value, forHTTPHeaderField: name)
            }
            let task = session.dataTask(with: urlRequest)
            let delegate = delegate
            let response = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    delegate.wait(for: task.taskIdentifier, continuation)
                    task.resume()
                    // A task that was cancelled before has reported its end when nothing waited for it.
                    if Task.isCancelled { delegate.cancel(task) }
                }
            } onCancel: {
                delegate.cancel(task)
            }
            return withExtendedLifetime(self) { response }
        }
    }

    extension Duration {
        fileprivate var timeInterval: TimeInterval { TimeInterval(timerMilliseconds) / 1_000 }
    }
#endif
