#if canImport(Darwin)
    import Foundation
    import Sluice

    /// The client that this system has.
    typealias SystemClient = SessionClient

    /// `URLSession` with nothing kept on disk: no cookies, no cache, no credentials.
    final class SessionClient: HTTPClient {
        private let delegate: SessionDelegate
        private let session: URLSession

        init(_ deadlines: HTTPDeadlines) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieAcceptPolicy = .never
            configuration.httpShouldSetCookies = false
            configuration.urlCredentialStorage = nil
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            // The delivery loop waits and tries again by its own rules.
            configuration.waitsForConnectivity = false
            configuration.timeoutIntervalForRequest = deadlines.total.timeInterval
            configuration.timeoutIntervalForResource = deadlines.total.timeInterval
            delegate = SessionDelegate()
            session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        }

        deinit {
            // A session holds its delegate, and lives on, until it is invalidated.
            session.invalidateAndCancel()
        }

        func send(_ request: HTTPRequest) async throws -> HTTPAnswer {
            try Task.checkCancellation()
            guard let url = URL(string: request.url) else {
                throw SluiceError(.invalidArgument, "the URL is none that this system can read")
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
            let answer = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    delegate.wait(for: task.taskIdentifier, continuation)
                    task.resume()
                }
            } onCancel: {
                task.cancel()
            }
            return withExtendedLifetime(self) { answer }
        }
    }

    extension Duration {
        fileprivate var timeInterval: TimeInterval { TimeInterval(timerMilliseconds) / 1_000 }
    }
#endif
