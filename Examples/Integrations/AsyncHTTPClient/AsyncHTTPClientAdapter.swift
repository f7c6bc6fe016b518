public import AsyncHTTPClient
public import NIOCore
import NIOHTTP1
public import Sluice
public import SluiceHTTP
import Synchronization

/// Sends the requests of an `HTTPTransport` with async-http-client instead of libcurl.
///
/// ```swift
/// let client = AsyncHTTPClientAdapter(eventLoopGroup: MultiThreadedEventLoopGroup.singleton)
/// HTTPTransport(to: collector, configuration: .init(client: client))
/// ```
///
/// It shares your event loops, but not your `HTTPClient`: whether redirects are followed belongs to a client, not to a
/// request. It follows none, reads at most ``SluiceHTTP/HTTPResponse/bodyLimit`` bytes of a response's body, and uses
/// HTTP/1.1 without decompression.
///
/// You can use it from any thread. Its connections are closed when you release it.
public final class AsyncHTTPClientAdapter: SluiceHTTP.HTTPClient {
    private let client: AsyncHTTPClient.HTTPClient
    private let connectTimeout: Duration
    private let totalTimeout: Duration

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - eventLoopGroup: The event loops that do the work, such as those of your server.
    ///   - configuration: Options such as TLS and a proxy. Those for redirects, timeouts, decompression, and the version
    ///     of HTTP are replaced.
    ///   - connectTimeout: The timeout for the connection and the TLS handshake.
    ///   - totalTimeout: The timeout for the whole request, up to the last byte of the response.
    public init(
        eventLoopGroup: any EventLoopGroup = AsyncHTTPClient.HTTPClient.defaultEventLoopGroup,
        configuration: AsyncHTTPClient.HTTPClient.Configuration = .init(),
        connectTimeout: Duration = .seconds(10), totalTimeout: Duration = .seconds(30)
    ) {
        var configuration = configuration
        configuration.redirectConfiguration = .disallow
        configuration.decompression = .disabled
        configuration.httpVersion = .http1Only
        // The route has a back-off of its own.
        configuration.connectionPool.retryConnectionEstablishment = false
        // The deadline of a request ends with its response. The last timeout ends an upload that goes on after that.
        configuration.timeout = .init(connect: TimeAmount(connectTimeout), write: TimeAmount(totalTimeout))
        client = AsyncHTTPClient.HTTPClient(eventLoopGroup: eventLoopGroup, configuration: configuration)
        self.connectTimeout = connectTimeout
        self.totalTimeout = totalTimeout
    }

    deinit {
        client.shutdown { _ in }
    }

    /// Checks the timeouts.
    public func open() throws(SluiceError) {
        guard connectTimeout > .zero, totalTimeout > .zero else {
            throw SluiceError(.invalidArgument, "the timeouts of an HTTP request must be more than zero")
        }
    }

    /// Sends a request once.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let exchange = Exchange()
        do {
            let task = client.execute(
                request: try .init(request), delegate: exchange, deadline: .now() + TimeAmount(totalTimeout))
            return try await withTaskCancellationHandler {
                try await task.get()
            } onCancel: {
                task.cancel()
            }
        } catch {
            try Task.checkCancellation()
            return try exchange.response(to: error)
        }
    }
}

/// Collects the response to one request. The client calls it on one event loop.
private final class Exchange: HTTPClientResponseDelegate {
    typealias RequestTask = AsyncHTTPClient.HTTPClient.Task<HTTPResponse>

    private struct BodyTooLong: Error {}

    private struct State {
        var response: HTTPResponse?
        /// Whether the system has taken the whole request.
        var isSent = false
    }

    private let state = Mutex(State())

    func didSendRequest(task: RequestTask) {
        state.withLock { $0.isSent = true }
    }

    func didReceiveHead(task: RequestTask, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let headers = head.headers.map { (name: $0.name, value: $0.value) }
        state.withLock { $0.response = HTTPResponse(status: Int(head.status.code), headers: headers) }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: RequestTask, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let isTooLong = state.withLock { state in
            let room = HTTPResponse.bodyLimit - (state.response?.body.count ?? 0)
            state.response?.body += part.readableBytesView.prefix(room)
            return part.readableBytes > room
        }
        // The failure closes the connection.
        return isTooLong
            ? task.eventLoop.makeFailedFuture(BodyTooLong()) : task.eventLoop.makeSucceededVoidFuture()
    }

    func didFinishRequest(task: RequestTask) throws -> HTTPResponse {
        guard let response = try response() else { throw Exchange.failure("there is no response") }
        return response
    }

    /// Returns the response to a request that has failed, if there is one to rely on.
    func response(to error: any Error) throws -> HTTPResponse {
        // A server that refuses a body without reading all of it may reset the connection after its response.
        guard !(error is SluiceError), var response = try response(),
            response.status >= 300 || error is BodyTooLong
        else { throw Exchange.failure(error) }
        response.isComplete = false
        return response
    }

    private func response() throws -> HTTPResponse? {
        let (response, isSent) = state.withLock { ($0.response, $0.isSent) }
        guard let response else { return nil }
        guard response.status >= 200 else {
            throw Exchange.failure("the response has the status \(response.status)")
        }
        guard response.status >= 300 || isSent else {
            throw Exchange.failure("the server responded before it had received the whole request")
        }
        return response
    }

    /// The texts of errors can contain the host or a header, except for the short ones of async-http-client.
    private static func failure(_ error: any Error) -> SluiceError {
        error as? SluiceError ?? failure((error as? HTTPClientError)?.shortDescription ?? "\(type(of: error))")
    }

    private static func failure(_ reason: String) -> SluiceError {
        SluiceError(.inputOutput, "the HTTP request failed: \(reason)")
    }
}

extension AsyncHTTPClient.HTTPClient.Request {
    fileprivate init(_ request: HTTPRequest) throws {
        var headers = HTTPHeaders()
        for (name, value) in request.headers { headers.add(name: name, value: value) }
        try self.init(
            url: request.url, method: HTTPMethod(rawValue: request.method), headers: headers,
            body: request.body.isEmpty ? nil : .byteBuffer(ByteBuffer(bytes: request.body)))
    }
}
