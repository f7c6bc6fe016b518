public import Sluice
public import SluiceJSONL

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

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
