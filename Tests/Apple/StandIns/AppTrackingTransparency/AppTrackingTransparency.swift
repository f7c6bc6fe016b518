public import Foundation

open class ATTrackingManager: NSObject {
    public enum AuthorizationStatus: UInt, Sendable {
        case notDetermined, restricted, denied, authorized
    }

    /// A test sets this.
    nonisolated(unsafe) public static var trackingAuthorizationStatus = AuthorizationStatus.notDetermined
}
