// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that no host of Sluice ever resolves what the inspector needs.
let package = Package(
    name: "Inspector",
    platforms: [.macOS(.v14)],
    products: [.executable(name: "sluice", targets: ["Inspector"])],
    dependencies: [
        .package(name: "Sluice", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        // Without its default traits: they read settings from the environment, and add packages.
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        // Parts of hummingbird's interface.
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    ],
    targets: [
        .target(name: "StoreFiles", dependencies: [.product(name: "Sluice", package: "Sluice")]),
        .executableTarget(
            name: "Inspector",
            dependencies: [
                "StoreFiles",
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "SluiceMemory", package: "Sluice"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            resources: [.embedInCode("Resources/page.html")]),
        .executableTarget(
            name: "InspectorHost",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
            ],
            path: "Tests/Host"),
        .testTarget(
            name: "InspectorTests",
            dependencies: [
                "Inspector", "StoreFiles",
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
    ]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    // Without optimization, the checksums of 1 GB take minutes, and the tests read that much.
    if target.name == "StoreFiles" { target.swiftSettings?.append(.unsafeFlags(["-O"])) }
}
