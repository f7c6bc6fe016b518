public import Foundation

open class ATTrackingManager: NSObject {
    public enum AuthorizationStatus: UInt, Sendable {
        case notDetermined, restricted, denied, authorized
    }

    /// To be set by a test.
    nonisolated(unsafe) public static var trackingAuthorizationStatus = AuthorizationStatus.notDetermined
}
