// swift-tools-version: 6.1
import PackageDescription

// Compiles and tests the files that end in +Apple.swift on other systems, with small modules that declare the used parts of
// Apple's frameworks and behave as documented.
//
//     swift test --package-path Tests/Apple

let standIns = [
    "UIKit", "SwiftUI", "Security", "AdSupport", "AppTrackingTransparency", "Network", "CoreTelephony", "CryptoKit",
]

let package = Package(
    name: "SluiceOnStandIns",
    targets: standIns.map { .target(name: $0, path: "StandIns/\($0)") } + [
        .target(name: "SluiceLibC", path: "Sources/SluiceLibC"),
        .target(name: "SluiceEvents", path: "Sources/SluiceEvents"),
        .target(
            name: "SluiceSystem", dependencies: ["SluiceEvents", "SluiceLibC", "CryptoKit"],
            path: "Sources/SluiceSystem"),
        .target(
            name: "SluiceDelivery", dependencies: ["SluiceEvents", "SluiceSystem"], path: "Sources/SluiceDelivery"),
        .target(
            name: "Sluice", dependencies: ["SluiceEvents", "SluiceSystem", "SluiceDelivery"], path: "Sources/Sluice"),
        .target(name: "SluiceMemory", dependencies: ["Sluice"], path: "Sources/SluiceMemory"),
        .target(name: "SluiceTesting", dependencies: ["Sluice", "SluiceMemory"], path: "Sources/SluiceTesting"),
        .target(
            name: "SluiceIdentity", dependencies: ["Sluice", "UIKit", "Security"],
            path: "Sources/SluiceIdentity"),
        .target(
            name: "SluiceAdvertising", dependencies: ["SluiceIdentity", "AdSupport", "AppTrackingTransparency"],
            path: "Sources/SluiceAdvertising"),
        .target(
            name: "SluiceAutoProperties", dependencies: ["Sluice", "SluiceLibC", "UIKit", "Network", "CoreTelephony"],
            path: "Sources/SluiceAutoProperties"),
        .target(name: "SluiceDuration", dependencies: ["Sluice", "UIKit", "SwiftUI"], path: "Sources/SluiceDuration"),
        .target(
            name: "SluiceLifecycle", dependencies: ["Sluice", "SluiceLibC", "UIKit", "Network"],
            path: "Sources/SluiceLifecycle"),
        .target(name: "SluicePassiveLaunch", dependencies: ["Sluice"], path: "Sources/SluicePassiveLaunch"),
        .testTarget(
            name: "AppleTests",
            dependencies: [
                "SluiceIdentity", "SluiceAdvertising", "SluiceAutoProperties", "SluiceDuration", "SluiceLifecycle",
                "SluiceMemory", "SluicePassiveLaunch", "SluiceSystem", "SluiceTesting",
            ], path: "AppleTests"),
    ]
)

for target in package.targets where !standIns.contains(target.name) {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
}

for target in package.targets where ["SluiceSystem", "SluiceIdentity"].contains(target.name) {
    target.exclude.append("PrivacyInfo.xcprivacy")
}

// The toolchain has a module for tests that use the real UIKit, which it would look for.
for target in package.targets where target.name == "AppleTests" {
    target.swiftSettings?.append(.unsafeFlags(["-Xfrontend", "-disable-cross-import-overlays"]))
}
