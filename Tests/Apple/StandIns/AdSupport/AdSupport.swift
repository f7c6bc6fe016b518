public import Foundation

open class ASIdentifierManager: NSObject {
    /// To be set by a test; zeros are what the system gives without permission.
    nonisolated(unsafe) public static var identifier = UUID(
        uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    public static func shared() -> ASIdentifierManager { ASIdentifierManager() }
    public var advertisingIdentifier: UUID { ASIdentifierManager.identifier }
}
