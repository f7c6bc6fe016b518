public import Sluice
public import SluiceAutoProperties

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Links {
    /// Tracks `$DeepLinkOpened` for a `URL`, such as the one that `onOpenURL` passes.
    ///
    /// ```swift
    /// links.opened(url, referrer: referrer)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The link.
    ///   - referrer: The page that had the link, such as `NSUserActivity.referrerURL`.
    ///   - properties: The event's own properties, which take precedence.
    public func opened(_ url: URL, referrer: URL? = nil, _ properties: PropertyLiteral = [:]) {
        opened(url.absoluteString, referrer: referrer?.absoluteString, properties)
    }

    /// Tracks `$PushOpened` for a message that opens a `URL`.
    ///
    /// ```swift
    /// links.pushOpened("spring", source: "news", url: url)
    /// ```
    ///
    /// - Parameters:
    ///   - campaign: The name of the campaign, or nil for the one in the URL.
    ///   - source: The source, or nil for the one in the URL or `push`.
    ///   - url: The link that the message opens.
    ///   - properties: The event's own properties, which take precedence.
    public func pushOpened(
        _ campaign: String? = nil, source: String? = nil, url: URL, _ properties: PropertyLiteral = [:]
    ) {
        pushOpened(campaign, source: source, url: url.absoluteString, properties)
    }
}

// The verbs with a list or a dictionary in a variable. They are disfavored, because Swift would otherwise prefer
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
