import Sluice
package import SluiceHTTP

/// A client that records the requests and responds to them, for tests without a server.
package final class KeepingClient: HTTPClient {
    private let all = Locked<[HTTPRequest]>([])
    private let respond: @Sendable (_ request: HTTPRequest, _ number: Int) throws -> HTTPResponse

    /// The requests so far.
    package var requests: [HTTPRequest] { all.withLock(\.self) }
    package var bodies: [String] { requests.map { String(decoding: $0.body, as: UTF8.self) } }

    package convenience init(responding response: HTTPResponse = HTTPResponse(200, #"{"status":1}"#)) {
        self.init { _, _ in response }
    }

    /// - Parameter respond: The response to a request. `number` counts the requests of its endpoint from 1.
    package init(_ respond: @escaping @Sendable (_ request: HTTPRequest, _ number: Int) throws -> HTTPResponse) {
        self.respond = respond
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let number = all.withLock { all in
            all.append(request)
            return all.count { $0.endpoint == request.endpoint }
        }
        return try respond(request, number)
    }
}

extension HTTPClient {
    /// A transport that sends its requests, uncompressed, with this client.
    package func transport(
        _ format: HTTPFormat = .jsonArray, to url: String = "https://h",
        clockCorrection: HTTPTransport.Configuration.ClockCorrection = .off,
        sign: (@Sendable (inout HTTPRequest) async throws -> Void)? = nil
    ) -> HTTPTransport {
        HTTPTransport(
            to: url, format: format,
            configuration: .init(gzip: false, client: self, clockCorrection: clockCorrection, sign: sign))
    }
}

extension HTTPResponse {
    package init(_ status: Int, _ body: String, headers: [(name: String, value: String)] = []) {
        self.init(status: status, headers: headers, body: Array(body.utf8))
    }
}
