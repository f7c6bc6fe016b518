// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that no host of Sluice ever resolves what the inspector needs.
let package = Package(
    name: "Inspector",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "sluice", targets: ["Inspector"])],
    dependencies: [
        .package(name: "Sluice", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Its minor versions may change the interface.
        .package(url: "https://github.com/swhitty/FlyingFox", .upToNextMinor(from: "0.27.1")),
    ],
    targets: [
        .target(name: "StoreFiles", dependencies: [.product(name: "Sluice", package: "Sluice")]),
        .executableTarget(
            name: "Inspector",
            dependencies: [
                "StoreFiles",
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceFilters", package: "Sluice"),
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "SluiceMemory", package: "Sluice"),
                .product(name: "SluicePlan", package: "Sluice"),
                .product(name: "SluiceVendors", package: "Sluice"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            resources: [
                "page.html", "style.css", "base.js", "rows.js", "events.js", "delivery.js", "counts.js", "live.js",
            ].map { .embedInCode("Resources/\($0)") }),
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
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "SluiceMemory", package: "Sluice"),
                .product(name: "SluiceVendors", package: "Sluice"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
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
    if target.name == "StoreFiles" { target.swiftSettings?.append(.unsafeFlags(["-O", "-wmo", "-num-threads", "1"])) }
}
