public import Sluice
public import SluiceAutoProperties

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

// The verbs of this module with a list or a dictionary in a variable. They are disfavored, because Swift would otherwise prefer
// them for literals. They are hidden, because the page of PropertyLiteral describes them for all verbs.

extension Links {
    /// Tracks `$DeepLinkOpened` for a `URL`.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func opened(_ url: URL, referrer: URL? = nil, _ properties: some PropertyList) {
        opened(url, referrer: referrer, properties.literal)
    }

    /// Tracks `$PushOpened` for a message that opens a `URL`.
    @_disfavoredOverload
    @_documentation(visibility: internal)
    public func pushOpened(
        _ campaign: String? = nil, source: String? = nil, url: URL, _ properties: some PropertyList
    ) {
        pushOpened(campaign, source: source, url: url, properties.literal)
    }
}
