public import SluiceHTTP

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension HTTPTransport {
    /// Creates a transport with a `URL`. An invalid URL throws when you build the pipeline.
    ///
    /// - Parameters:
    ///   - url: An http or https URL, without user name or fragment.
    ///   - format: The backend's format.
    ///   - headers: Headers for every request. They replace those of the format.
    ///   - configuration: Compression, timeouts, signatures, and replacements of the client and the clocks.
    public convenience init(
        to url: URL, format: HTTPFormat = .jsonArray, headers: [String: String] = [:],
        configuration: Configuration = Configuration()
    ) {
        self.init(to: url.absoluteString, format: format, headers: headers, configuration: configuration)
    }
}
