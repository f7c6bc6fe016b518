import Foundation
import TestSupport
import Testing

/// The core must run in a process without Foundation.
@Suite struct MinimalCoreTests {
    /// The core, from the lowest floor to the highest. Each sees only those below it.
    private static let floors = ["SluiceEvents", "SluiceSystem", "SluiceDelivery", "Sluice"]

    @Test("the floors of the core, built alone, link the standard library and the C library, but not Foundation")
    func coreLinksNoFoundation() async throws {
        let directory = TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let features = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]
        let module = directory.path + "/SluiceLibC.swiftmodule"
        let (status, output) = try await Compiler.run(
            ["-emit-module", "-module-name", "SluiceLibC", "-swift-version", "6", "-o", module]
                + Repository.swiftFiles(in: "Sources/SluiceLibC").map(\.path))
        try #require(status == 0, "\(output)")
        var below: [String] = []
        for floor in Self.floors {
            let sources = try Repository.swiftFiles(in: "Sources/\(floor)")
            #expect(sources.count > 10)
            let library = URL(filePath: directory.path).appending(path: "lib\(floor).so")
            let (status, output) = try await Compiler.run(
                [
                    "-emit-library", "-emit-module", "-wmo", "-module-name", floor, "-package-name", "sluice",
                    "-swift-version", "6", "-warnings-as-errors", "-I", directory.path, "-L", directory.path,
                    "-o", library.path,
                ] + below.map { "-l\($0)" } + features.flatMap { ["-enable-upcoming-feature", $0] }
                    + sources.map(\.path))
            try #require(status == 0, "\(output)")
            below.append(floor)

            let linked = try Self.linkedLibraries(of: library)
            #expect(linked.contains { $0.contains("swiftCore") }, "cannot tell what is linked: \(linked)")
            #expect(linked.filter { $0.contains("Foundation") || $0.contains("icu") } == [])
        }
    }

    @Test("SluiceEvents imports no module at all: no clock, no lock, no file")
    func eventsImportNothing() throws {
        for file in try Repository.swiftFiles(in: "Sources/SluiceEvents") {
            let imports = try Self.imports(of: file)
            #expect(imports.isEmpty, "\(file.lastPathComponent) has \(imports)")
        }
    }

    /// The lines that import a module. A message can have the word, too.
    static func imports(of file: URL) throws -> [Substring] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { try #/^\s*(?:[@\w()]+ )*import \w/#.firstMatch(in: $0) != nil }
    }

    /// The names of shared libraries that the dynamic linker will look for, as they stand in the file's bytes: the
    /// same for ELF and Mach-O, and without a tool that a machine may lack.
    static func linkedLibraries(of library: URL) throws -> [String] {
        var names: [String] = []
        var name = ""
        for byte in try Data(contentsOf: library) {
            if (0x21...0x7E).contains(byte) {
                name.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                if byte == 0, name.contains(".so") || name.hasSuffix(".dylib") || name.contains(".framework/") {
                    names.append(name)
                }
                name = ""
            }
        }
        return names
    }

    @Test("no file of the core imports Foundation", arguments: floors)
    func noCoreFileImportsFoundation(floor: String) throws {
        for file in try Repository.swiftFiles(in: "Sources/\(floor)") {
            let imports = try Self.imports(of: file).filter { $0.contains("Foundation") }
            #expect(imports.isEmpty, "\(file.lastPathComponent) imports Foundation")
        }
    }
}
