import Sluice
import SluiceMemory
import TestSupport
import Testing

@testable import SluiceAutoProperties

/// Static super properties across launches.
@Suite struct SuperPropertiesPersistenceTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func launch() -> AutoProperties {
        AutoProperties(persistedIn: .file(directory.path), system: SystemReader())
    }

    /// The messages that this stage reports to a pipeline.
    private func diagnostics(_ auto: AutoProperties, _ body: () throws -> Void = {}) throws -> [Diagnostic.Kind] {
        let said = Locked<[Diagnostic]>([])
        let pipeline = try Pipeline(onDiagnostic: { diagnostic in said.withLock { $0.append(diagnostic) } }) {
            auto
            MemoryStore()
            NullTransport()
        }
        try body()
        _ = pipeline
        return said.withLock { $0.map(\.kind) }
    }

    @Test("each verb is on disk when it returns, with the types of its values")
    func verbsAreDurable() throws {
        let moment = Timestamp(milliseconds: 1_767_225_600_000)
        let first = launch()
        let properties: Properties = [
            "plan": "pro", "since": .date(moment), "n": 1, "d": 1.5, "tags": ["a", ["b": nil]],
        ]
        first.register(.init(properties))
        #expect(launch().registered == first.registered)
        first.registerOnce(["plan": "free", "once": true])
        #expect(launch().registered["plan"] == "pro" && launch().registered["once"] == true)
        first.unregister("plan")
        #expect(launch().registered["plan"] == nil)
        first.unregisterAll()
        #expect(launch().registered.isEmpty)
    }

    @Test("once means once per installation")
    func onceIsOncePerInstallation() throws {
        launch().registerOnce(["campaign": "spring"])
        let second = launch()
        second.registerOnce(["campaign": "summer"])
        #expect(try #require(second.processed()).properties["campaign"] == "spring")
    }

    @Test("dynamic properties and automatic ones are not kept")
    func onlyStaticPropertiesAreKept() throws {
        let first = launch()
        first.registerDynamic("n") { 1 }
        first.register(["a": 1])
        #expect(launch().registered == ["a": 1])
    }

    @Test("without a persistence nothing is kept and nothing is written")
    func memoryKeepsNothing() throws {
        AutoProperties(system: SystemReader()).register(["a": 1])
        #expect(AutoProperties(system: SystemReader()).registered.isEmpty)
        _ = launch()
        #expect(directory.names == [])
    }

    @Test("a damaged file is kept aside and reported, and new properties are kept again")
    func damagedFileIsKeptAside() throws {
        try directory.write(Array("{\"a\":".utf8), to: "super-properties.json")
        let auto = launch()
        #expect(try diagnostics(auto) == [.plugin])
        #expect(try directory.read("super-properties.json.corrupt") == Array("{\"a\":".utf8))
        auto.register(["b": 1])
        #expect(launch().registered == ["b": 1])
    }

    @Test("properties that can't be kept are reported, and count until the process ends")
    func failedWriteIsReported() throws {
        let auto = launch()
        let said = try diagnostics(auto) {
            try directory.block()
            auto.register(["a": 1])
        }
        #expect(said == [.plugin])
        #expect(try #require(auto.processed()).properties["a"] == 1)
    }

    @Test("a file that can't be read is not replaced, and is used from the first change afterwards")
    func unreadableFileIsNotReplaced() throws {
        launch().register(["a": 1, "b": 1])
        let good = try directory.read("super-properties.json")
        directory.remove("super-properties.json")
        try directory.makeDirectory("super-properties.json")
        let auto = launch()
        auto.register(["b": 2])
        #expect(throws: SluiceError.self) { try diagnostics(auto) }
        directory.remove("super-properties.json")
        try directory.write(good, to: "super-properties.json")
        auto.register(["c": 3])
        #expect(auto.registered == ["a": 1, "b": 2, "c": 3])
        #expect(launch().registered == auto.registered)
    }

    @Test("after concurrent registrations, the kept properties are those in memory")
    func concurrentRegistrationsAreKept() async throws {
        let auto = launch()
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<20 { auto.register(["n": .int(number), "task": .int(task)]) }
                }
            }
        }
        #expect(launch().registered == auto.registered)
    }

    /// A value with this many levels of arrays and objects.
    private static func nested(_ levels: Int) -> PropertyValue {
        (0..<levels).reduce("deep") { value, level in level.isMultiple(of: 2) ? ["a": value] : [value] }
    }

    @Test(
        "a property of any depth is the same in the next launch as in this one",
        arguments: [0, 1, 2, 10, 23, 28, 29, 30, 31, 32, 33, 60, 1_000])
    func depthIsKept(levels: Int) throws {
        let first = launch()
        #expect(try diagnostics(first).isEmpty)
        first.register(["deep": Self.nested(levels), "plan": "pro"])
        let next = launch()
        #expect(try diagnostics(next).isEmpty)
        #expect(next.registered == first.registered && next.registered["plan"] == "pro")
        #expect(directory.names == ["super-properties.json"])
    }
}
