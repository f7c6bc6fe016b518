public import Sluice

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Persistence {
    /// Keeps each plugin's state in a small file in a directory, such as `identity.json`.
    ///
    /// - Parameter directory: A file URL of a directory, which is created if it is missing.
    /// - Returns: The place, which several plugins can share.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that doesn't name a file.
    public static func file(_ directory: URL) throws(SluiceError) -> Persistence {
        .file(try directory.directoryPath())
    }
}
