public import Sluice

/// Sends one HTTP request and brings back its answer: what ``HTTPTransport`` stands on.
///
/// The system's own is used unless another one is given: libcurl on Linux, `URLSession` on Apple's platforms.
///
/// ## Conforming
/// - An answer of any status is an answer; errors are for exchanges without one. An answer of 2xx whose body broke off
///   is an error too, since nothing says what the rest of it would have been.
/// - Redirects are never followed: they would carry the events, and the credentials, to someone else.
/// - ``send(_:)`` returns soon after its task was cancelled, and always returns: a client has deadlines of its own.
/// - At most ``HTTPAnswer/bodyLimit`` bytes of an answer's body are read.
/// - Called from any number of tasks at once.
public protocol HTTPClient: Sendable {
    /// Called before any request, perhaps more than once.
    ///
    /// - Throws: what makes the client unusable, such as ``Sluice/SluiceError/Code/missingLibrary``.
    func open() throws(SluiceError)

    /// Sends a request, once, and waits for the answer.
    ///
    /// - Throws: any error if there was no whole answer. Its text names no URL, header or body.
    func send(_ request: HTTPRequest) async throws -> HTTPAnswer
}

extension HTTPClient {
    public func open() throws(SluiceError) {}
}
