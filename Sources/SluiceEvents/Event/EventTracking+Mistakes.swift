// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Values that need a word more select an unavailable overload, so that the compiler prints a remedy instead of names of types.
// A value of another type has no overload: the compiler's own message names it, and points at it.

/// A literal with a value of Foundation, such as a `Date`, or with a literal in it that has values of several types.
///
/// This module can't name types of Foundation. All of those that a property can hold conform to this protocol of the standard
/// library, and so do Swift's own types beside them.
@_documentation(visibility: internal)
public struct _UnfitLiteral: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, (any _ObjectiveCBridgeable)?)...) {}
}

@_documentation(visibility: internal)
extension EventTracking {
    @available(
        *, unavailable,
        message: """
            a value can't be a property: Date, URL, UUID, Decimal and Data need `import SluiceFoundation`, values of several \
            types `.array([…])` or `.object([…])`, types of yours `: PropertyConvertible`
            """
    )
    @_disfavoredOverload
    @discardableResult
    public func track(
        _ name: String, _ properties: _UnfitLiteral, priority: Event.Priority = .normal, id: EventID? = nil,
        configure: (inout Event) -> Void = { _ in }
    ) -> EventID { EventID(high: 0, low: 0) }
}

@_documentation(visibility: internal)
extension Properties {
    @available(
        *, unavailable,
        message: """
            a value can't be a property: write `try Properties(converting: …)` for [String: Any], and \
            `: PropertyConvertible` behind a type of yours
            """
    )
    @_disfavoredOverload
    public init(_ dictionary: [String: Any]) { self.init() }
}
