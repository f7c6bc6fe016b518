public import Sluice

/// Sends HTTP requests for an ``HTTPTransport``.
///
/// The transport uses libcurl on Linux and `URLSession` on Apple's platforms. Conform to this protocol to use your own
/// HTTP stack, or to answer requests in a test:
///
/// ```swift
/// struct FakeClient: HTTPClient {
///     func send(_ request: HTTPRequest) async throws -> HTTPResponse { HTTPResponse(status: 200) }
/// }
/// let transport = HTTPTransport(to: collector, format: .ndjson, configuration: .init(client: FakeClient()))
/// ```
///
/// ## Conforming
/// - Return responses of every status. Throw if there is no response, or if a 2xx response is incomplete.
/// - Don't follow redirects, because they would send the events and the credentials to another server.
/// - Return soon after the task is cancelled, and enforce a timeout of your own.
/// - Read at most ``HTTPResponse/bodyLimit`` bytes of a response's body.
/// - Expect calls from several tasks at the same time.
public protocol HTTPClient: Sendable {
    /// Prepares the client. The transport calls this once for each pipeline, while it is built.
    ///
    /// - Throws: An error that makes the client unusable, such as an invalid timeout.
    func open() throws(SluiceError)

    /// Loads the libraries that the client needs, for ``HTTPTransport/check()``. Otherwise ``send(_:)`` does it.
    ///
    /// - Throws: An error that makes the client unusable, such as ``Sluice/SluiceError/Code/missingLibrary``.
    func check() throws(SluiceError)

    /// Sends a request once.
    ///
    /// - Parameter request: The request, complete except for headers such as `Host`.
    /// - Returns: The response, with any status.
    /// - Throws: Any error if there was no complete response. Its text must not contain a URL, header or body.
    ///   ``Sluice/SluiceError/Code/missingLibrary`` counts as a refusal: the route pauses.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

extension HTTPClient {
    /// Does nothing.
    public func open() throws(SluiceError) {}

    /// Does nothing.
    public func check() throws(SluiceError) {}
}
