public import Sluice
public import SluiceJSONL

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Persistence {
    /// Keeps each plugin's state in a small file in a directory, such as `identity.json`.
    ///
    /// ```swift
    /// let place = try Persistence.file(URL(filePath: "/var/lib/shop/state"))
    /// ```
    ///
    /// - Parameter directory: A file URL of a directory. The directory is created if it is missing.
    /// - Returns: The place, which several plugins can share.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that doesn't name a file.
    public static func file(_ directory: URL) throws(SluiceError) -> Persistence {
        .file(try directory.directoryPath())
    }
}

extension JSONLStore {
    /// Creates a store in the directory of a file URL.
    ///
    /// ```swift
    /// let store = try JSONLStore(at: URL(filePath: "/var/lib/shop/events"))
    /// ```
    ///
    /// All other parameters are the ones of the initializer with a path.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if `directory` isn't a file URL.
    public convenience init(
        at directory: URL,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        encryption: LineEncryption? = nil
    ) throws(SluiceError) {
        self.init(
            at: try directory.directoryPath(), durability: durability, capacity: capacity, maximumAge: maximumAge,
            maximumEventBytes: maximumEventBytes, encryption: encryption)
    }
}

extension URL {
    /// Returns the path of a directory on this machine.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if this isn't a file URL.
    func directoryPath() throws(SluiceError) -> String {
        guard isFileURL else {
            throw SluiceError(
                .invalidArgument,
                "a directory can't have a URL with the scheme \"\(scheme ?? "")\"; pass a file URL, URL(filePath:)")
        }
        return absoluteURL.path(percentEncoded: false)
    }
}
