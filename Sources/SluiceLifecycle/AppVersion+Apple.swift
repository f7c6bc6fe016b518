#if canImport(UIKit) || canImport(AppKit)
    import Foundation

    extension AppVersion {
        /// The version and the build in the app's Info.plist.
        static var ofBundle: AppVersion {
            let information = Bundle.main.infoDictionary ?? [:]
            return AppVersion(
                number: information["CFBundleShortVersionString"] as? String,
                build: information["CFBundleVersion"] as? String)
        }
    }
#else
    extension AppVersion {
        /// Programs have no bundle.
        static var ofBundle: AppVersion { AppVersion() }
    }
#endif
