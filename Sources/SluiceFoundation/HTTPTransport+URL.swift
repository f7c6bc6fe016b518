public import SluiceHTTP

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension HTTPTransport {
    /// Creates a transport with a `URL`. An invalid URL throws when you build the pipeline.
    ///
    /// ```swift
    /// let url = URL(string: "https://collector.example/events")!
    /// let transport = HTTPTransport(to: url, format: .ndjson)
    /// ```
    ///
    /// All other parameters are the ones of the initializer with a string.
    public convenience init(
        to url: URL, format: HTTPFormat = .jsonArray, headers: [String: String] = [:],
        configuration: Configuration = Configuration()
    ) {
        self.init(to: url.absoluteString, format: format, headers: headers, configuration: configuration)
    }
}
