import Sluice
public import SluiceHTTP

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension HTTPTransport {
    /// The same as with the URL's text: what is wrong with it, such as a scheme other than http or https, is thrown when
    /// a pipeline is built. All parameters are those of the initializer with a string.
    public convenience init(
        to url: URL,
        format: any WireFormat = .jsonArray,
        headers: [String: String] = [:],
        deadlines: HTTPDeadlines = HTTPDeadlines(),
        client: (any HTTPClient)? = nil,
        sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil
    ) {
        self.init(
            to: url.absoluteString, format: format, headers: headers, deadlines: deadlines, client: client, sign: sign)
    }
}
