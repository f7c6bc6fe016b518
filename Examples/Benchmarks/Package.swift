// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that no host of Sluice ever resolves the packages that Sluice is compared with.
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
        .target(name: "CBenchmarks", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CBenchmarks", "LakeTool", "Tool", "TrackingTool",
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceAutoProperties", package: "Sluice"),
                .product(name: "SluiceIdentity", package: "Sluice"),
                .product(name: "SluiceDuration", package: "Sluice"),
                .product(name: "SluicePassiveLaunch", package: "Sluice"),
                .product(name: "SluiceFilters", package: "Sluice"),
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "SluiceMemory", package: "Sluice"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["GRDB"])),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
            ]),
        // Programs of their own, which the benchmark starts: it needs the whole cost of a process.
        .executableTarget(
            name: "LakeTool",
            dependencies: [
                .product(name: "SluiceFiles", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
            ]),
        .executableTarget(name: "Tool"),
        .executableTarget(
            name: "TrackingTool",
            dependencies: [
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
            ]),
    ]
)
