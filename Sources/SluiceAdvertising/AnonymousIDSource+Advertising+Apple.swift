// A target of its own: only an app that asks for tracking should link AdSupport at all, which its review asks about.
#if canImport(AdSupport) && canImport(AppTrackingTransparency)
    import AdSupport
    import AppTrackingTransparency
    import Foundation
    public import SluiceIdentity

    extension AnonymousIDSource {
        /// The advertising id (IDFA), if the user has authorised tracking by the time that the `Identity` is made.
        ///
        /// This does not ask the user: call `ATTrackingManager.requestTrackingAuthorization` before.
        public static let advertising = AnonymousIDSource {
            guard ATTrackingManager.trackingAuthorizationStatus == .authorized else { return nil }
            return ASIdentifierManager.shared().advertisingIdentifier.uuidString
        }
    }
#endif
