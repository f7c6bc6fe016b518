#if canImport(UIKit) && !os(watchOS)
    import Foundation
    import UIKit

    extension AnonymousIDSource {
        /// The id that all apps of one vendor share on a device (IDFV); another one after all of them were removed.
        ///
        /// It is known only to the main thread: an `Identity` that is made elsewhere goes on to the next source.
        public static let vendor = AnonymousIDSource {
            guard Thread.isMainThread else { return nil }
            return MainActor.assumeIsolated { UIDevice.current.identifierForVendor?.uuidString }
        }
    }
#endif
