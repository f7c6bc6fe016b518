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
        .target(name: "SluicePlanModel", dependencies: ["SluiceEvents"], path: "Sources/SluicePlanModel"),
        .target(
            name: "SluiceTesting", dependencies: ["Sluice", "SluiceMemory", "SluicePlanModel"],
            path: "Sources/SluiceTesting"),
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
        .target(name: "CSluiceJSONL", path: "Sources/CSluiceJSONL"),
        .target(
            name: "SluiceJSONL", dependencies: ["Sluice", "CSluiceJSONL", "SluiceLibC"], path: "Sources/SluiceJSONL"),
        .target(name: "SluiceGzip", dependencies: ["SluiceLibC"], path: "Sources/SluiceGzip"),
        .target(
            name: "SluiceHTTP", dependencies: ["Sluice", "SluiceGzip", "SluiceLibC"], path: "Sources/SluiceHTTP"),
        .target(
            name: "TestSupport",
            dependencies: ["Sluice", "SluiceLibC", "SluiceMemory", "SluiceTesting"], path: "TestSupport"),
        .target(
            name: "HTTPTestSupport", dependencies: ["Sluice", "SluiceHTTP", "SluiceTesting", "TestSupport"],
            path: "HTTPTestSupport"),
        .testTarget(
            name: "AppleTests",
            dependencies: [
                "SluiceIdentity", "SluiceAdvertising", "SluiceAutoProperties", "SluiceDuration", "SluiceLifecycle",
                "SluiceMemory", "SluicePassiveLaunch", "SluiceSystem", "SluiceTesting", "TestSupport",
            ], path: "AppleTests"),
        .testTarget(
            name: "SessionTests",
            dependencies: [
                "HTTPTestSupport", "SluiceHTTP", "SluiceJSONL", "SluiceLibC", "SluiceMemory", "SluiceTesting",
                "TestSupport",
            ], path: "SessionTests"),
    ]
)

for target in package.targets
where !standIns.contains(target.name) && target.name != "CSluiceJSONL" {
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

// URLSession of FoundationNetworking, which is part of Foundation on Apple's systems. `canImport(Darwin)` is true for these two
// targets only: XCTest's generated code would believe it too.
let darwin = ["-Xcc", "-fmodule-map-file=\(Context.packageDirectory)/StandIns/Darwin/module.modulemap"]
for target in package.targets where target.name == "SluiceHTTP" {
    target.swiftSettings?.append(
        .unsafeFlags(darwin + ["-Xfrontend", "-import-module", "-Xfrontend", "FoundationNetworking"]))
}
for target in package.targets where target.name == "SessionTests" {
    target.swiftSettings?.append(.unsafeFlags(darwin))
}
