// A target of its own, because app review asks about every app that links AdSupport.
#if canImport(AdSupport) && canImport(AppTrackingTransparency)
    import AdSupport
    import AppTrackingTransparency
    import Foundation
    public import SluiceIdentity

    extension AnonymousIDSource {
        /// The advertising id (IDFA), if the user has authorized tracking by the time that you build the pipeline.
        ///
        /// This doesn't ask the user: call `ATTrackingManager.requestTrackingAuthorization` before.
        public static let advertising = AnonymousIDSource {
            guard ATTrackingManager.trackingAuthorizationStatus == .authorized else { return nil }
            return ASIdentifierManager.shared().advertisingIdentifier.uuidString
        }
    }
#endif
