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
        // The timeouts for reading and writing close connections that nothing waits for any more.
        let total = TimeAmount(totalTimeout)
        configuration.timeout = .init(connect: TimeAmount(connectTimeout), read: total, write: total)
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
        return try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
            group.addTask { try await self.exchange(request) }
            // async-http-client's own deadline ends with the head of the response.
            group.addTask {
                try await Task.sleep(for: self.totalTimeout)
                throw AsyncHTTPClientAdapter.failure("the response took too long")
            }
            defer { group.cancelAll() }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }

    private func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        let upload = Upload(request.body)
        var begun: HTTPResponse?
        do {
            let received = try await client.execute(
                HTTPClientRequest(request, upload), deadline: .now() + TimeAmount(totalTimeout))
            var response = HTTPResponse(
                status: Int(received.status.code), headers: received.headers.map { (name: $0.name, value: $0.value) })
            begun = response
            for try await part in received.body {
                let room = HTTPResponse.bodyLimit - response.body.count
                response.body += part.readableBytesView.prefix(room)
                response.isComplete = part.readableBytes <= room
                begun = response
                if !response.isComplete { break }  // Closes the connection.
            }
            return try checked(response, upload)
        } catch let error as SluiceError {
            throw error
        } catch {
            try Task.checkCancellation()
            // A server that refuses a body without reading all of it may reset the connection after its response.
            guard var response = begun, response.status >= 300 else { throw AsyncHTTPClientAdapter.failure(error) }
            response.isComplete = false
            return response
        }
    }

    private func checked(_ response: HTTPResponse, _ upload: Upload) throws -> HTTPResponse {
        guard response.status >= 200 else {
            throw AsyncHTTPClientAdapter.failure("the response has the status \(response.status)")
        }
        guard response.status >= 300 || upload.isSent else {
            throw AsyncHTTPClientAdapter.failure("the server responded before it had received the whole request")
        }
        return response
    }

    /// The texts of errors can contain the host or a header, except for the short ones of async-http-client.
    private static func failure(_ error: any Error) -> SluiceError {
        failure((error as? HTTPClientError)?.shortDescription ?? "\(type(of: error))")
    }

    private static func failure(_ reason: String) -> SluiceError {
        SluiceError(.inputOutput, "the HTTP request failed: \(reason)")
    }
}

/// The body of a request in parts. The client asks for a part when the connection can take it.
private final class Upload: Sendable {
    let count: Int
    private let rest: Mutex<ByteBuffer>

    init(_ body: [UInt8]) {
        count = body.count
        rest = Mutex(ByteBuffer(bytes: body))
    }

    /// Whether the client has taken the last part.
    var isSent: Bool { rest.withLock { $0.readableBytes == 0 } }

    var parts: AsyncStream<ByteBuffer> { AsyncStream { self.next() } }

    private func next() -> ByteBuffer? {
        rest.withLock { rest in
            rest.readableBytes > 0 ? rest.readSlice(length: min(65_536, rest.readableBytes)) : nil
        }
    }
}

extension HTTPClientRequest {
    fileprivate init(_ request: HTTPRequest, _ upload: Upload) {
        self.init(url: request.url)
        method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.headers { headers.add(name: name, value: value) }
        if upload.count > 0 { body = .stream(upload.parts, length: .known(Int64(upload.count))) }
    }
}
