import Sluice

/// A source of the first anonymous id of an installation, such as an id of the device.
///
/// ```swift apple
/// Identity(persistedIn: .device(), anonymousIDFrom: [.vendor])
/// ```
///
/// Sources are asked in their order, once per installation; the first valid id is used. An id is ignored if it is
/// blank, longer than 255 characters, contains NUL, or stands for a missing one, such as `null` or zeros (the IDFA without
/// permission). Without an id from a source, and for every new id later, a random UUID is used.
public struct AnonymousIDSource: Sendable {
    private let ask: @Sendable () -> String?

    /// Creates a source.
    ///
    /// ```swift
    /// let source = AnonymousIDSource { machineID() }
    /// let identity = Identity(persistedIn: .file(stateDirectory), anonymousIDFrom: [source])
    /// ```
    ///
    /// - Parameter id: Returns the id, or nil if there is no id. It is called on the thread that builds the pipeline,
    ///   or that first asks the ``Identity`` for an id, and must not call the identity.
    public init(_ id: @escaping @Sendable () -> String?) {
        ask = id
    }

    var id: String? {
        ask().flatMap { UserID.isValid($0) ? $0 : nil }
    }
}
