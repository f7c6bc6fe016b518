/// Where a plugin keeps its state across launches.
///
/// ```swift
/// Identity(persistedIn: .file(stateDirectory))
/// Consent(persistedIn: .file(stateDirectory))
/// ```
///
/// You can pass one value to several plugins: each type keeps an item of its own there. Plugins of one type, for example in
/// two routes or two pipelines of a process, need a place each, because each sees only its own changes. Otherwise building
/// the second pipeline throws ``SluiceError/Code/invalidPipeline``, also for two spellings of one path. A pipeline has its
/// places until it is shut down or released. Until then, other objects can read the state there, but their changes throw, or
/// are reported: change it with the object that stands in the pipeline.
///
/// Only `Identity` is meant to be shared: several objects, pipelines and processes can use its directory, if one `Consent`
/// decides about all objects of a pipeline, or none. Processes must not share a place of other plugins. They can't see each
/// other, so this isn't checked.
///
/// ## State that can't be used
///
/// All plugins follow the same rules. A ``PersistedState`` implements them for plugins of your own.
///
/// | the stored state | the plugin |
/// |---|---|
/// | is missing | begins as at a first launch |
/// | is damaged | keeps it aside, under its own name with `.corrupt` at the end, reports that to the diagnostics, and begins as at a first launch, or with the safe choice that its documentation names |
/// | can't be read now | throws while the pipeline is built, and never overwrites it. Build the pipeline later, for example after the first unlock of a device |
/// | has a version that the program can't read | the same, with ``SluiceError/Code/otherVersion`` |
///
/// Until it can be read, a plugin keeps changes in memory, and combines them with the stored state afterwards. If a write
/// fails, the plugin reports that or its method throws, and the next write includes the change.
public struct Persistence: Sendable {
    package enum Place: Sendable {
        case directory(String)
        case custom(CustomPlace)
        indirect case encrypted(Place, LineEncryption)
    }

    package struct CustomPlace: Sendable {
        package let name: String
        package let read: @Sendable (_ item: String) throws -> [UInt8]?
        package let write: @Sendable (_ item: String, _ bytes: [UInt8]) throws -> Void
        package let remove: (@Sendable (_ item: String) throws -> Void)?
        /// It keeps only the part of a state that stays on the device when the app is removed.
        package var keepsDevicePart = false
        /// Returns the id of this device, or nil while it is unknown. A part that was written on another device doesn't
        /// count. Nil for a place that isn't bound to a device.
        package var device: (@Sendable () -> String?)?
        /// Other processes write to it too.
        package var isShared = false
    }

    /// The first place counts. The others are read if it is lost or damaged.
    package let places: [Place]

    /// Keeps nothing: the next launch starts from the beginning. Use it in tests:
    ///
    /// ```swift
    /// let identity = Identity(persistedIn: .memory)
    /// ```
    public static let memory = Persistence(places: [])

    /// Keeps each plugin's state in a small file in a directory, such as `identity.json`.
    ///
    /// Each file is replaced as a whole: after a crash or a loss of power it holds the old state or the new one.
    ///
    /// An app and its extensions can share the `identity.json` of an `Identity` in the container of their app group.
    /// Its changes are made under a lock of the file `identity.json.lock` (`flock`), which holds no data and stays. The
    /// state isn't bound to a device: exclude the directory from backups if another device must not get the same
    /// anonymous id.
    ///
    /// ```swift
    /// let identity = Identity(persistedIn: .file(stateDirectory))
    /// ```
    ///
    /// - Parameter directory: The path of a directory, which is created if it is missing. A relative path is resolved by
    ///   this call, so the place stays the same if the process changes its working directory.
    /// - Returns: The place, which several plugins can share.
    public static func file(_ directory: String) -> Persistence {
        Persistence(places: [.directory(FilePath.absolute(directory, in: SystemFileSystem()))])
    }

    /// Keeps state in a place of your own, such as a database.
    ///
    /// ```swift
    /// let folder = URL(fileURLWithPath: stateDirectory)
    /// let place = Persistence(
    ///     named: "the folder",
    ///     read: { item in
    ///         let file = folder.appendingPathComponent(item)
    ///         return FileManager.default.fileExists(atPath: file.path) ? [UInt8](try Data(contentsOf: file)) : nil
    ///     },
    ///     write: { item, bytes in
    ///         try Data(bytes).write(to: folder.appendingPathComponent(item), options: .atomic)
    ///     })
    /// ```
    ///
    /// The closures are called on any thread, one at a time for each plugin, and without a lock. They may read the plugin;
    /// a change of its state throws ``SluiceError/Code/invalidArgument``, or is reported.
    ///
    /// - Parameters:
    ///   - name: The name of the place in error messages. Two places with one name count as one place, so give each database a
    ///     name of its own.
    ///   - read: Returns the bytes that were last written for an item such as `identity`, or nil if there have never
    ///     been any. It must throw if it can't read them, because nil starts from the beginning.
    ///   - write: Replaces the bytes of an item, and returns when they are safe.
    ///   - remove: Removes an item if it is there, such as a damaged one that was kept aside, when a plugin erases its
    ///     state. Nil: the item is replaced by an empty one, and an empty one counts as removed.
    public init(
        named name: String, read: @escaping @Sendable (_ item: String) throws -> [UInt8]?,
        write: @escaping @Sendable (_ item: String, _ bytes: [UInt8]) throws -> Void,
        remove: (@Sendable (_ item: String) throws -> Void)? = nil
    ) {
        self.init(places: [.custom(CustomPlace(name: name, read: read, write: write, remove: remove))])
    }

    private init(places: [Place]) {
        self.places = places
    }

    /// Adds a backup. Writes go to both places; reads use the backup if this place is empty or damaged. Where the two
    /// differ, this place counts.
    ///
    /// ```swift
    /// let both = Persistence.file(stateDirectory).backedUp(by: .file(queueDirectory))
    /// let identity = Identity(persistedIn: both)
    /// ```
    ///
    /// - Parameter other: The second place.
    /// - Returns: Both places together.
    public func backedUp(by other: Persistence) -> Persistence {
        Persistence(places: places + other.places)
    }

    /// Encrypts the state that is kept here, with the same encryption as a `JSONLStore`.
    ///
    /// ```swift
    /// let encryption = LineEncryption(encrypt: { try cipher.encrypt($0) }, decrypt: { try cipher.decrypt($0) })
    /// let identity = Identity(persistedIn: .file(stateDirectory).encrypted(with: encryption))
    /// ```
    ///
    /// State that was stored in plain text, or with an earlier key, is read, and encrypted when it changes. State that can't
    /// be decrypted counts as state that can't be read now: it stays as it is, and building the pipeline throws.
    ///
    /// - Parameter encryption: Encrypts and decrypts the state as a whole.
    /// - Returns: The same places, with encrypted contents.
    public func encrypted(with encryption: LineEncryption) -> Persistence {
        Persistence(places: places.map { .encrypted($0, encryption) })
    }

    /// Binds the one custom place to a device.
    package func bound(
        toDevice device: (@Sendable () -> String?)?, keepsDevicePart: Bool = false, isShared: Bool = false
    ) -> Persistence {
        Persistence(
            places: places.map { place in
                guard case .custom(var place) = place else { return place }
                place.device = device
                place.keepsDevicePart = keepsDevicePart
                place.isShared = isShared
                return .custom(place)
            })
    }
}
