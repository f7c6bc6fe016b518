// swift-tools-version: 6.1
import PackageDescription

/// The core and every plugin: each a folder under Sources, each a product of its own.
let libraries: [Target] = [
    .target(name: "SluiceEvents"),
    .target(name: "Sluice", dependencies: ["SluiceEvents", "SluiceSystem", "SluiceDelivery"]),
    .target(name: "SluiceAutoProperties", dependencies: ["Sluice", "SluiceLibC"]),
    .target(name: "SluiceIdentity", dependencies: ["Sluice"]),
    .target(name: "SluiceAdvertising", dependencies: ["SluiceIdentity"]),
    .target(name: "SluiceDuration", dependencies: ["Sluice"]),
    .target(name: "SluiceLifecycle", dependencies: ["Sluice", "SluiceLibC"]),
    .target(name: "SluicePassiveLaunch", dependencies: ["Sluice"]),
    .target(name: "SluiceFilters", dependencies: ["Sluice"]),
    .target(name: "SluiceMemory", dependencies: ["Sluice"]),
    .target(name: "SluiceJSONL", dependencies: ["Sluice", "CSluiceJSONL", "SluiceLibC"]),
    .target(name: "SluiceStdout", dependencies: ["Sluice", "SluiceLibC"]),
    .target(name: "SluiceFiles", dependencies: ["Sluice", "SluiceGzip"]),
    .target(name: "SluiceHTTP", dependencies: ["Sluice", "CSluiceCurl", "SluiceGzip", "SluiceLibC"]),
    .target(name: "SluiceVendors", dependencies: ["Sluice", "SluiceGzip", "SluiceHTTP"]),
    .target(
        name: "SluiceFoundation",
        dependencies: ["Sluice", "SluiceAutoProperties", "SluiceJSONL", "SluiceHTTP"]),
    .target(name: "SluicePlan", dependencies: ["Sluice", "SluicePlanModel"]),
    .target(name: "SluiceTesting", dependencies: ["Sluice", "SluiceMemory", "SluicePlanModel"]),
]

/// Code that the libraries share or need from C; not for hosts.
let internals: [Target] = [
    .target(name: "SluiceLibC"),
    .target(name: "SluiceSystem", dependencies: ["SluiceEvents", "SluiceLibC"]),
    .target(name: "SluiceDelivery", dependencies: ["SluiceEvents", "SluiceSystem", "SluiceLibC"]),
    .target(name: "SluicePlanModel", dependencies: ["SluiceEvents"]),
    .target(
        name: "SluiceGzip", dependencies: ["SluiceLibC"],
        linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
    .target(name: "CSluiceJSONL"),
    .target(name: "CSluiceCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
]

/// Generates the types of a tracking plan at build time, in the targets that use the plugin.
let generation: [Target] = [
    .executableTarget(name: "PlanGenerator", dependencies: ["SluiceEvents", "SluicePlanModel"]),
    .plugin(
        name: "SluicePlanPlugin", capability: .buildTool(), dependencies: ["PlanGenerator"],
        path: "Sources/PlanPlugin"),
]

let plugins = libraries.map { Target.Dependency.target(name: $0.name) }

/// An example with the plugins that it imports, so that `swift run` compiles nothing else.
func example(_ name: String, _ plugins: String..., building: [Target.PluginUsage] = []) -> Target {
    .executableTarget(
        name: name, dependencies: plugins.map { .target(name: "Sluice\($0)") }, path: "Examples/\(name)",
        plugins: building)
}

let examples: [Target] = [
    example(
        "QuickStart", "AutoProperties", "Duration", "Filters", "Identity", "JSONL", "Lifecycle", "PassiveLaunch"),
    example("AutoPropertiesExample", "AutoProperties", "Memory"),
    example("IdentityExample", "Identity", "Memory"),
    example("DurationTimerExample", "Duration", "Memory", "Testing"),
    example("ScreensExample", "Duration", "Memory", "Testing"),
    example("SessionsExample", "Lifecycle", "Memory", "Testing"),
    example("LinksExample", "AutoProperties", "Memory"),
    example("ConsentExample", "Filters", "Identity", "Memory"),
    example("PassiveLaunchExample", "Lifecycle", "Memory", "PassiveLaunch"),
    example("JSONLStoreExample", "JSONL"),
    example("EncryptedStoreExample", "JSONL", "Stdout"),
    example("ErasePersonExample", "Filters", "JSONL", "Testing"),
    example("MemoryStoreExample", "Memory"),
    example("HTTPTransportExample", "HTTP", "Memory"),
    example("FileTransportExample", "Files", "Memory", "Testing"),
    example("StdoutTransportExample", "Memory", "Stdout"),
    example("FiltersExample", "Filters", "Memory", "Stdout"),
    example("ServerExample", "JSONL", "Lifecycle", "Memory", "Stdout"),
    example("SwapEnvironments", "AutoProperties", "HTTP", "JSONL", "Memory", "Stdout", "Testing"),
    example("CustomPlugin", "Filters", "HTTP", "JSONL", "Memory", "Stdout", "Testing"),
    example("AccessLog", "HTTP", "JSONL", "Memory", "Stdout"),
    example(
        "AppExample", "HTTP", "Identity", "JSONL", "Lifecycle", "Memory", "PassiveLaunch"),
    example("ToolExample", "HTTP", "JSONL", "Memory"),
    example("TroubleshootingExample", "Filters", "HTTP", "Memory"),
    example("TypedEventsExample", "Memory", "Stdout"),
    example("TraceExample", "Filters", "Memory", "Testing"),
    example("ServerIdentityExample", "Identity", "Stdout", "Testing"),
    example("TrackingPlanExample", "Memory", "Plan", "Testing", building: ["SluicePlanPlugin"]),
    .target(name: "FeatureModule", dependencies: ["SluiceEvents"], path: "Examples/FeatureModuleExample/Feature"),
    .executableTarget(
        name: "FeatureModuleExample", dependencies: ["FeatureModule", "SluiceMemory", "SluiceStdout"],
        path: "Examples/FeatureModuleExample/Host"),
]

// Swift 6.1 has no default isolation. There, the target compiles as any other one.
#if compiler(>=6.2)
    let mainActor: [SwiftSetting] = [.unsafeFlags(["-default-isolation", "MainActor"])]
#else
    let mainActor: [SwiftSetting] = []
#endif

let tests: [Target] = [
    .executableTarget(name: "EventsOnly", dependencies: ["FeatureModule", "SluiceEvents"], path: "Tests/EventsOnly"),
    .executableTarget(
        name: "Simulation", dependencies: ["Sluice", "SluiceJSONL", "SluiceTesting"],
        path: "Tests/Simulation", exclude: ["mutants"]),
    .executableTarget(
        name: "FaultHost",
        dependencies: [
            "Sluice", "SluiceFiles", "SluiceFilters", "SluiceHTTP", "SluiceIdentity", "SluiceJSONL", "SluiceMemory",
            "SluiceStdout",
        ],
        path: "Tests/Faults/Host"),
    .executableTarget(
        name: "LakeEvents", dependencies: ["SluiceFiles"], path: "Tests/Lake/Events"),
    .executableTarget(
        name: "Instructions", dependencies: plugins, path: "Tests/Instructions",
        exclude: ["count", "limits.json", "linear"]),
    .executableTarget(name: "PlanHost", dependencies: ["SluicePlan"], path: "Tests/Plan/Host"),
    .executableTarget(
        name: "WireRequests",
        dependencies: [
            "Sluice", "SluiceAutoProperties", "SluiceDuration", "SluiceFilters", "SluiceHTTP", "SluiceIdentity",
            "SluiceJSONL", "SluiceMemory", "SluiceTesting", "SluiceVendors",
        ],
        path: "Tests/Wire/Requests"),
    .target(
        name: "TestSupport", dependencies: ["Sluice", "SluiceLibC", "SluiceMemory", "SluiceTesting"],
        path: "Tests/TestSupport"),
    .target(
        name: "HTTPTestSupport", dependencies: ["SluiceHTTP", "SluiceTesting", "TestSupport"],
        path: "Tests/HTTPTestSupport"),
    .testTarget(
        name: "SluiceEventsTests",
        dependencies: ["Sluice", "SluiceEvents", "SluiceMemory", "SluiceTesting", "TestSupport"]),
    .testTarget(
        name: "SluiceTests",
        dependencies: [
            "Sluice", "SluiceEvents", "SluiceSystem", "SluiceDelivery", "SluiceMemory", "SluiceStdout", "SluiceTesting",
            "TestSupport",
        ]),
    .testTarget(
        name: "MainActorTests", dependencies: ["SluiceMemory", "SluiceTesting"],
        swiftSettings: mainActor),
    .testTarget(
        name: "Swift5Tests", dependencies: ["SluiceMemory", "SluiceTesting"],
        swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "SluiceTestingTests", dependencies: ["SluiceTesting", "SluiceMemory", "SluiceStdout"]),
    .testTarget(name: "SluiceJSONLTests", dependencies: ["SluiceJSONL", "SluiceLibC", "SluiceTesting", "TestSupport"]),
    .testTarget(
        name: "SluiceFilesTests",
        dependencies: ["SluiceFiles", "SluiceGzip", "SluiceJSONL", "SluiceMemory", "SluiceTesting", "TestSupport"]),
    .testTarget(
        name: "SluiceHTTPTests",
        dependencies: [
            "HTTPTestSupport", "SluiceGzip", "SluiceHTTP", "SluiceJSONL", "SluiceLibC", "SluiceMemory", "SluiceStdout",
            "SluiceTesting", "TestSupport",
        ]),
    // Also what holds for the formats of both products.
    .testTarget(
        name: "SluiceVendorsTests",
        dependencies: [
            "HTTPTestSupport", "SluiceFilters", "SluiceGzip", "SluiceHTTP", "SluiceIdentity", "SluiceMemory",
            "SluiceTesting", "SluiceVendors", "TestSupport",
        ]),
    .testTarget(name: "SluiceAutoPropertiesTests", dependencies: ["SluiceAutoProperties", "TestSupport"]),
    .testTarget(name: "SluiceDurationTests", dependencies: ["SluiceDuration", "TestSupport"]),
    .testTarget(name: "SluiceFiltersTests", dependencies: ["SluiceFilters", "TestSupport"]),
    .testTarget(
        name: "SluiceFoundationTests",
        dependencies: ["SluiceFilters", "SluiceFoundation", "SluiceIdentity", "SluiceStdout", "TestSupport"]),
    .testTarget(name: "SluiceIdentityTests", dependencies: ["FaultHost", "SluiceIdentity", "TestSupport"]),
    .testTarget(
        name: "SluiceLifecycleTests",
        dependencies: ["SluiceLibC", "SluiceLifecycle", "SluicePassiveLaunch", "TestSupport"]),
    .testTarget(name: "SluiceMemoryTests", dependencies: ["SluiceMemory", "SluiceTesting"]),
    .testTarget(
        name: "SluicePlanTests",
        dependencies: [
            "PlanGenerator", "SluiceMemory", "SluicePlan", "SluicePlanModel", "SluiceTesting", "TestSupport",
        ]),
    .testTarget(name: "SluiceStdoutTests", dependencies: ["SluiceStdout", "TestSupport"]),
    .testTarget(name: "SluiceCompositionTests", dependencies: plugins + ["SluiceLibC", "TestSupport"]),
    .testTarget(
        name: "ExampleTests",
        dependencies: plugins + ["TestSupport"] + examples.map { Target.Dependency.target(name: $0.name) }),
]

// The privacy manifests are resources, and SwiftPM links Foundation for resources. Linux doesn't need them.
for target in libraries + internals where ["SluiceSystem", "SluiceIdentity"].contains(target.name) {
    #if os(macOS)
        target.resources = [.process("PrivacyInfo.xcprivacy")]
    #else
        target.exclude.append("PrivacyInfo.xcprivacy")
    #endif
}

// A build with a sanitizer takes long, so .ci/run names the tests that it needs.
let selection = Context.environment["SLUICE_TESTS"]?.split(whereSeparator: \.isWhitespace).map(String.init)

let package = Package(
    name: "Sluice",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: libraries.map { .library(name: $0.name, targets: [$0.name]) } + [
        .plugin(name: "SluicePlanPlugin", targets: ["SluicePlanPlugin"])
    ],
    targets: libraries + internals + generation + examples
        + tests.filter { $0.type != .test || selection?.contains($0.name) ?? true }
)

for target in package.targets
where target.type != .plugin && (!target.name.hasPrefix("C") || target.name == "CustomPlugin") {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("InternalImportsByDefault"),
            .enableUpcomingFeature("MemberImportVisibility"),
        ]
}
