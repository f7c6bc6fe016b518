public import Sluice
public import SluiceAutoProperties
public import SluiceFilters
public import SluiceIdentity
public import SluiceLifecycle

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Identity.Persistence {
    /// In the file `identity.json` in a directory, which is made if it is missing.
    ///
    /// - Parameter directory: a file URL. Several plugins of one host may share the directory.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that does not name a file.
    public static func file(_ directory: URL) throws(SluiceError) -> Identity.Persistence {
        .file(try directory.directoryPath())
    }
}

extension Consent.Persistence {
    /// In the file `consent.json` in a directory, which is made if it is missing.
    ///
    /// - Parameter directory: a file URL. Several plugins of one host may share the directory.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that does not name a file.
    public static func file(_ directory: URL) throws(SluiceError) -> Consent.Persistence {
        .file(try directory.directoryPath())
    }
}

extension AutoProperties.Persistence {
    /// In the file `super-properties.json` in a directory, which is made if it is missing.
    ///
    /// - Parameter directory: a file URL. Several plugins of one host may share the directory.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that does not name a file.
    public static func file(_ directory: URL) throws(SluiceError) -> AutoProperties.Persistence {
        .file(try directory.directoryPath())
    }
}

extension LifecyclePersistence {
    /// In the files `lifecycle.json` and `sessions.json` in a directory, which is made if it is missing.
    ///
    /// - Parameter directory: a file URL. Several plugins of one host may share the directory; several processes may not.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that does not name a file.
    public static func file(_ directory: URL) throws(SluiceError) -> LifecyclePersistence {
        .file(try directory.directoryPath())
    }
}
