public import Sluice
public import SluiceHTTP

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension HTTPTransport {
    /// Creates a transport to a URL. An invalid one, such as a scheme other than http or https, throws when you build the
    /// pipeline. All parameters are those of the initializer with a string.
    public convenience init(
        to url: URL,
        format: any WireFormat = .jsonArray,
        headers: [String: String] = [:],
        gzip: Bool = true,
        deadlines: HTTPDeadlines = HTTPDeadlines(),
        client: (any HTTPClient)? = nil,
        time: any TimeSource = SystemTime(),
        sign: (@Sendable (inout HTTPRequest) throws -> Void)? = nil,
        onDiagnostic: (@Sendable (Diagnostic) -> Void)? = nil
    ) {
        self.init(
            to: url.absoluteString, format: format, headers: headers, gzip: gzip, deadlines: deadlines, client: client,
            time: time, sign: sign, onDiagnostic: onDiagnostic)
    }
}
