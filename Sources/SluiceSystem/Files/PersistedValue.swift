public import SluiceEvents

/// The value of a ``PersistedState``, which is kept as a JSON object.
///
/// ```swift
/// struct Visits: PersistedValue {
///     var count = 0
///
///     init() {}
///
///     init?(_ object: Properties) {
///         guard case .int(let count) = object["count"] else { return nil }
///         self.count = Int(count)
///     }
///
///     var object: Properties { ["count": .int(count)] }
/// }
/// ```
public protocol PersistedValue: Sendable, Equatable {
    /// Reads a value. Return nil if a member is missing or has another type. The state then counts as damaged.
    ///
    /// - Parameter object: An ``object`` of this ``version``.
    init?(_ object: Properties)

    /// The value as an object.
    var object: Properties { get }

    /// The version of ``object``. 1 by default.
    ///
    /// Raise it when an earlier program would misread the object. It is stored with the object, and a program that finds
    /// another version calls ``upgrade(_:from:)``.
    static var version: Int { get }

    /// Makes an object of this ``version`` from an object of another version. Returns nil by default.
    ///
    /// - Parameters:
    ///   - object: The stored object.
    ///   - version: Its version: lower after an update of your program, higher after a return to an earlier one.
    /// - Returns: Nil if this program can't read that version. The stored object then stays as it is, and
    ///   ``PersistedState/load()`` throws ``SluiceError/Code/otherVersion``.
    static func upgrade(_ object: Properties, from version: Int) -> Properties?

    /// Combines a value that was changed while the stored one could not be read with the stored one. Called when that has
    /// become readable. By default, this value stays as it is, because it is newer.
    ///
    /// - Parameter stored: The value that was stored.
    mutating func merge(stored: Self)
}

extension PersistedValue {
    /// Returns 1.
    public static var version: Int { 1 }

    /// Returns nil.
    ///
    /// - Parameters:
    ///   - object: The stored object.
    ///   - version: Its version.
    /// - Returns: Nil.
    public static func upgrade(_ object: Properties, from version: Int) -> Properties? { nil }

    /// Does nothing.
    ///
    /// - Parameter stored: The value that was stored.
    public mutating func merge(stored: Self) {}
}
