// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that no host of Sluice ever resolves what Sluice is measured against.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v13)],
    traits: [
        // GRDB needs the headers of SQLite; without them, build with --disable-default-traits.
        .default(enabledTraits: ["GRDB"]),
        .trait(name: "GRDB", description: "The rows of GRDB"),
    ],
    dependencies: [
        .package(name: "Sluice", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceAutoProperties", package: "Sluice"),
                .product(name: "SluiceIdentity", package: "Sluice"),
                .product(name: "SluiceDuration", package: "Sluice"),
                .product(name: "SluiceLifecycle", package: "Sluice"),
                .product(name: "SluiceFilters", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "SluiceMemory", package: "Sluice"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["GRDB"])),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ])
    ]
)
