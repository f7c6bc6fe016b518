import Foundation
import TestSupport
import Testing

@Suite("The code in README.md and the guides")
struct GuideTests {
    @Test(
        "a guide to a plugin shows the whole example",
        arguments: [
            ("WritingAProcessor", ["Currency", "BurstGate", "LaunchCount"]),
            ("WritingAStore", ["ArrayStore", "FileStore"]),
            ("WritingATransport", ["AuditFile"]), ("WritingAWireFormat", ["ShopFormat"]),
        ])
    func guidesShowWholeExamples(page: String, examples: [String]) throws {
        let text = try Repository.text("Docs/\(page).md")
        for example in examples {
            let source = try Repository.text("Examples/CustomPlugin/\(example).swift")
            #expect(text.contains("```swift\n\(source)```"), "\(page) doesn't show \(example).swift as it is")
        }
    }

    @Test("the first snippet of README.md needs at most three imports")
    func firstSnippetIsShort() throws {
        let snippet = try Repository.text("README.md").components(separatedBy: "```")[1]
        #expect(snippet.hasPrefix("swift\n") && snippet.components(separatedBy: "\nimport ").count <= 4)
    }

    @Test("README.md has at most 700 words")
    func readmeIsShort() throws {
        #expect(try Repository.text("README.md").split(whereSeparator: \.isWhitespace).count <= 700)
    }

    @Test("GettingStarted.md has at most 220 lines")
    func gettingStartedIsShort() throws {
        let text = try Repository.text("Docs/GettingStarted.md")
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 221)
    }

    @Test("the simplest store has at most 40 lines")
    func simplestStoreIsShort() throws {
        #expect(try Repository.text("Examples/CustomPlugin/ArrayStore.swift").split(separator: "\n").count <= 40)
    }

    /// The rows of Architecture.md's walks, in their order: those with a step that matches.
    static func steps(where isStep: (String) -> Bool) throws -> [[String]] {
        try Repository.text("Docs/Architecture.md").split(separator: "\n").compactMap { line -> [String]? in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return cells.count == 4 && isStep(cells[0]) ? cells : nil
        }
    }

    static func expectFunctions(in rows: [[String]]) throws {
        for row in rows {
            let function = row[1].replacing("`", with: "").split(separator: "(")[0].split(separator: ".")
            let source = try Repository.text("Sources/" + row[2].replacing("`", with: ""))
            let name = try #require(function.last)
            let declarations = name == "init" ? ["init("] : ["func \(name)(", "func \(name)<"]
            #expect(declarations.contains { source.contains($0) } && source.contains(function[0]), "\(row)")
        }
    }

    @Test("the walk of an event names at most 40 functions, each in the file that it gives")
    func walkNamesExistingFunctions() throws {
        let rows = try Self.steps { Int($0) != nil }
        #expect(rows.map { $0[0] } == (1...max(1, rows.count)).map(String.init))
        #expect((30...40).contains(rows.count))
        try Self.expectFunctions(in: rows)
    }

    @Test("the walk of a refused event names functions in the files that it gives")
    func refusedWalkNamesExistingFunctions() throws {
        let rows = try Self.steps { $0.count == 1 && $0.allSatisfy(\.isLowercase) }
        #expect(rows.map { $0[0] } == "abcdefghijklmnopqrstuvwxyz".prefix(rows.count).map { String($0) })
        #expect((15...26).contains(rows.count))
        try Self.expectFunctions(in: rows)
    }

    @Test("Architecture.md has at most 250 lines")
    func architectureIsShort() throws {
        let lines = try Repository.text("Docs/Architecture.md").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 251)
    }

    @Test("each decision is listed, names files that exist, and has no code that nothing compiles")
    func decisionsAreListed() throws {
        let folder = Repository.root.appending(path: "Docs/Decisions")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let list = try Repository.text("Docs/Decisions/README.md")
        for name in names where name != "README.md" { #expect(list.contains("](\(name))"), "not listed: \(name)") }
        for page in names.map({ "Docs/Decisions/" + $0 }) + ["Docs/Architecture.md"] {
            let text = try Repository.text(page)
            #expect(!text.contains("```swift"), "\(page)")
            for path in text.split(separator: "`") where path.hasSuffix(".swift") && path.contains("/") {
                let file = Repository.root.appending(path: "Sources/\(path)")
                #expect(FileManager.default.fileExists(atPath: file.path), "\(page): \(path)")
            }
        }
    }
}
