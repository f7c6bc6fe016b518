public import Sluice

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
