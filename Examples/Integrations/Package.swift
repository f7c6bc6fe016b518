// swift-tools-version: 6.1
import PackageDescription

// A package of its own, so that no host of Sluice resolves these packages. Each library has a folder of its own, which you
// can copy, and needs only the packages that it lists.
let package = Package(
    name: "Integrations",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "SluiceServiceLifecycle", targets: ["SluiceServiceLifecycle"]),
        .library(name: "SluiceLogging", targets: ["SluiceLogging"]),
        .library(name: "SluiceMetrics", targets: ["SluiceMetrics"]),
        .library(name: "SluiceAsyncHTTPClient", targets: ["SluiceAsyncHTTPClient"]),
        .library(name: "SluiceGRDB", targets: ["SluiceGRDB"]),
        .library(name: "SluiceHummingbird", targets: ["SluiceHummingbird"]),
    ],
    dependencies: [
        .package(name: "Sluice", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        // Without its default traits: they read settings from the environment, and add packages.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    ],
    targets: [
        .target(
            name: "SluiceServiceLifecycle",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "ServiceLifecycle"),
        .target(
            name: "SluiceLogging",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Logging"),
        .target(
            name: "SluiceMetrics",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Metrics"),
        .target(
            name: "SluiceAsyncHTTPClient",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "AsyncHTTPClient"),
        .target(
            name: "SluiceGRDB",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "GRDB"),
        .target(
            name: "SluiceHummingbird",
            dependencies: [
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceIdentity", package: "Sluice"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            path: "Hummingbird"),
        .executableTarget(
            name: "Shop",
            dependencies: [
                "SluiceAsyncHTTPClient", "SluiceGRDB", "SluiceHummingbird", "SluiceLogging", "SluiceServiceLifecycle",
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceIdentity", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "SluiceStdout", package: "Sluice"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Shop"),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "SluiceAsyncHTTPClient", "SluiceGRDB", "SluiceHummingbird", "SluiceLogging", "SluiceMetrics",
                "SluiceServiceLifecycle", "Shop",
                .product(name: "Sluice", package: "Sluice"),
                .product(name: "SluiceHTTP", package: "Sluice"),
                .product(name: "SluiceIdentity", package: "Sluice"),
                .product(name: "SluiceJSONL", package: "Sluice"),
                .product(name: "SluiceMemory", package: "Sluice"),
                .product(name: "SluiceTesting", package: "Sluice"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Tests",
            exclude: ["browser"]),
    ]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
}
