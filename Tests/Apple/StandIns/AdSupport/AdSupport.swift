public import Foundation

open class ASIdentifierManager: NSObject {
    /// A test sets this. The system returns zeros without permission.
    nonisolated(unsafe) public static var identifier = UUID(
        uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

    public static func shared() -> ASIdentifierManager { ASIdentifierManager() }
    public var advertisingIdentifier: UUID { ASIdentifierManager.identifier }
}
