#if canImport(UIKit) && !os(watchOS)
    import Foundation
    import UIKit

    extension AnonymousIDSource {
        /// The id that all apps of one vendor share on a device (IDFV). It changes when all of them are removed.
        ///
        /// It is read when you call this, because only the main thread can read it.
        @MainActor public static var vendor: AnonymousIDSource {
            let id = UIDevice.current.identifierForVendor?.uuidString
            return AnonymousIDSource { id }
        }
    }
#endif
