/// Where a plugin keeps its state across launches.
///
/// ```swift
/// Identity(persistedIn: .file(stateDirectory))
/// Consent(persistedIn: .file(stateDirectory))
/// ```
///
/// You can pass one value to several plugins: each keeps an item of its own there. Several processes must not share a
/// place, because each sees only its own changes.
///
/// All plugins treat errors alike. Damaged state is kept aside, under its own name with `.corrupt` at the end, and
/// reported to the diagnostics; the plugin then continues as on a first launch, or with the safe choice where its
/// documentation says so. State that can't be read at the moment is never overwritten.
public struct Persistence: Sendable {
    package enum Place: Sendable {
        case directory(String)
        case custom(
            name: String, read: @Sendable (_ item: String) throws -> [UInt8]?,
            write: @Sendable (_ item: String, _ bytes: [UInt8]) throws -> Void)
    }

    /// The first one counts; the others stand in where it is lost.
    package let places: [Place]

    /// Keeps nothing: the next launch starts from the beginning.
    public static let memory = Persistence(places: [])

    /// Keeps each plugin's state in a small file in a directory, such as `identity.json`.
    ///
    /// Each file is replaced as a whole: after a crash or a loss of power it holds the old state or the new one.
    ///
    /// - Parameter directory: The path of a directory, which is created if it is missing.
    /// - Returns: The place, which several plugins can share.
    public static func file(_ directory: String) -> Persistence {
        Persistence(places: [.directory(directory)])
    }

    /// Keeps state in a place of your own, such as a database.
    ///
    /// The closures are called on any thread, one at a time for each plugin, and must not call the plugin.
    ///
    /// - Parameters:
    ///   - name: The name of the place in error messages.
    ///   - read: Returns the bytes that were last written for an item such as `identity`, or nil if there have never been
    ///     any. It must throw if it can't tell, because nil starts from the beginning.
    ///   - write: Replaces the bytes of an item, and returns when they are safe.
    public init(
        named name: String, read: @escaping @Sendable (_ item: String) throws -> [UInt8]?,
        write: @escaping @Sendable (_ item: String, _ bytes: [UInt8]) throws -> Void
    ) {
        self.init(places: [.custom(name: name, read: read, write: write)])
    }

    private init(places: [Place]) {
        self.places = places
    }

    /// Adds a second place, which is written as well, and read where this one has nothing or is damaged. So state
    /// survives the loss of either. Where the two differ, this place counts.
    ///
    /// - Parameter other: The second place.
    /// - Returns: Both places together.
    public func backedUp(by other: Persistence) -> Persistence {
        Persistence(places: places + other.places)
    }
}
