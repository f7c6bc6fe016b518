#if canImport(UIKit) && !os(watchOS)
    import Foundation
    import UIKit

    extension AnonymousIDSource {
        /// The id that all apps of one vendor share on a device (IDFV); another one after all of them were removed.
        ///
        /// It is read here, since only the main thread may.
        @MainActor public static var vendor: AnonymousIDSource {
            let id = UIDevice.current.identifierForVendor?.uuidString
            return AnonymousIDSource { id }
        }
    }
#endif
