import Sluice

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension URL {
    /// The path of a directory on this machine.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that does not name a file.
    func directoryPath() throws(SluiceError) -> String {
        guard isFileURL else {
            throw SluiceError(
                .invalidArgument,
                "a URL of the scheme \"\(scheme ?? "")\" for a directory: pass a file URL, URL(filePath:)")
        }
        return absoluteURL.path(percentEncoded: false)
    }
}
