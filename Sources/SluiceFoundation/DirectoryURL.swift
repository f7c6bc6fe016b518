import Sluice

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
