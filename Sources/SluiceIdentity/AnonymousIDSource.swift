import Sluice

/// Where the very first anonymous id may come from, if none is kept yet: an id of the device, for example.
///
/// ```swift
/// Identity(persistedIn: .device(), anonymousIDFrom: [.vendor])
/// ```
///
/// Sources are asked in their order, once in the life of an installation; the first id counts. What is blank, longer
/// than 255 characters, with a NUL in it, or all zeros, as an advertising id without permission, is none. After the last
/// source, and for every new id later, comes a random UUID.
public struct AnonymousIDSource: Sendable {
    private let ask: @Sendable () -> String?

    /// - Parameter id: called on the thread that makes the ``Identity``; nil if there is no id.
    public init(_ id: @escaping @Sendable () -> String?) {
        ask = id
    }

    var id: String? {
        ask().flatMap { UserIDs.isID($0) ? $0 : nil }
    }
}
