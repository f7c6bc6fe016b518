package import Sluice
package import SluiceHTTP

/// A client that records the requests, for tests without a server.
package final class KeepingClient: HTTPClient {
    package let requests = Locked<[HTTPRequest]>([])
    private let response: HTTPResponse

    package init(responding response: HTTPResponse = HTTPResponse(status: 200, body: Array(#"{"status":1}"#.utf8))) {
        self.response = response
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        requests.withLock { $0.append(request) }
        return response
    }
}
