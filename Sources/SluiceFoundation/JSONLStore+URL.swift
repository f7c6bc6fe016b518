public import Sluice
public import SluiceJSONL

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension JSONLStore {
    /// Creates a store in a directory that you pass as a file URL. All parameters are those of the initializer with a path.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for a URL that doesn't name a file.
    public convenience init(
        at directory: URL,
        durability: Durability = .process,
        capacity: Int = 10_485_760,
        maximumAge: Duration = .seconds(25 * 86_400),
        maximumEventBytes: Int = 1_000_000,
        sealing: LineSealing? = nil,
        environment: PipelineEnvironment = PipelineEnvironment()
    ) throws(SluiceError) {
        self.init(
            at: try directory.directoryPath(), durability: durability, capacity: capacity, maximumAge: maximumAge,
            maximumEventBytes: maximumEventBytes, sealing: sealing, environment: environment)
    }
}
