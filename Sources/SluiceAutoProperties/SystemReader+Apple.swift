#if canImport(UIKit) || canImport(AppKit)
    import Foundation
    import Network
    import Sluice

    #if canImport(Darwin)
        import Darwin
    #endif
    #if canImport(UIKit) && !os(watchOS)
        import UIKit
    #elseif canImport(AppKit)
        import CoreGraphics
    #endif

    extension SystemReader {
        /// Properties from Apple's frameworks and `sysctl`. The kernel's names for the system are not the names that
        /// users know.
        static var applePlatform: Properties {
            let screen = screenSize
            let information = Bundle.main.infoDictionary ?? [:]
            var properties = Properties(known: [
                "$os": systemName,
                "$os_version": systemValue("kern.osproductversion"),
                "$architecture": architecture,
                "$manufacturer": "Apple",
                "$model": systemValue(modelKey),
                "$app_name": information["CFBundleName"] as? String,
                "$app_version": information["CFBundleShortVersionString"] as? String,
                "$app_build": information["CFBundleVersion"] as? String,
                "$app_id": Bundle.main.bundleIdentifier,
                "$locale": Locale.current.identifier,
                "$country": Locale.current.region?.identifier,
                "$timezone": TimeZone.current.identifier,
                "$screen_width": screen.map { Int($0.width) },
                "$screen_height": screen.map { Int($0.height) },
            ])
            #if canImport(CoreTelephony) && !os(macOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
                properties["$carrier"] = carrier.map { .string($0) }
            #endif
            return properties
        }

        /// Started once, because a new monitor has no path. The network is left out until it has one.
        private static let pathMonitor: NWPathMonitor = {
            let monitor = NWPathMonitor()
            monitor.start(queue: DispatchQueue(label: "sluice.network"))
            return monitor
        }()

        static var appleNetworkType: String? {
            let path = pathMonitor.currentPath
            guard path.status == .satisfied else { return nil }
            if path.usesInterfaceType(.wifi) { return "wifi" }
            if path.usesInterfaceType(.cellular) { return "cellular" }
            return path.usesInterfaceType(.wiredEthernet) ? "ethernet" : nil
        }

        private static var systemName: String {
            #if os(macOS)
                "macOS"
            #elseif os(tvOS)
                "tvOS"
            #elseif os(watchOS)
                "watchOS"
            #elseif os(visionOS)
                "visionOS"
            #else
                "iOS"
            #endif
        }

        /// The processor's architecture. The kernel returns the device instead.
        private static var architecture: String {
            #if arch(x86_64)
                "x86_64"
            #else
                "arm64"
            #endif
        }

        private static var modelKey: String {
            #if os(macOS)
                "hw.model"
            #else
                "hw.machine"
            #endif
        }

        private static func systemValue(_ name: String) -> String? {
            #if canImport(Darwin)
                var size = 0
                guard sysctlbyname(name, nil, &size, nil, 0) == 0, size > 0 else { return nil }
                var bytes = [UInt8](repeating: 0, count: size)
                guard sysctlbyname(name, &bytes, &size, nil, 0) == 0 else { return nil }
                return trimmed(String(decoding: bytes.prefix(size), as: UTF8.self))
            #else
                return nil
            #endif
        }

        /// The size in pixels. On iOS, only the main thread can read it, so other threads leave it out.
        private static var screenSize: CGSize? {
            #if canImport(UIKit) && !os(watchOS) && !os(visionOS)
                guard Thread.isMainThread else { return nil }
                return MainActor.assumeIsolated { UIScreen.main.nativeBounds.size }
            #elseif canImport(AppKit)
                return CGDisplayCopyDisplayMode(CGMainDisplayID()).map {
                    CGSize(width: $0.pixelWidth, height: $0.pixelHeight)
                }
            #else
                return nil
            #endif
        }
    }
#endif
