public import SluiceHTTP

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension HTTPTransport {
    /// Creates a transport with a `URL`. An invalid URL throws when you build the pipeline. The other parameters are those
    /// of the initializer with a string.
    public convenience init(
        to url: URL, format: HTTPFormat = .jsonArray, headers: [String: String] = [:],
        configuration: Configuration = Configuration()
    ) {
        self.init(to: url.absoluteString, format: format, headers: headers, configuration: configuration)
    }
}
