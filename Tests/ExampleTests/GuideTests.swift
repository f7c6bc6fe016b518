import Foundation
import TestSupport
import Testing

@Suite("The code in README.md and the guides")
struct GuideTests {
    static let guides = [
        "README.md", "Docs/GettingStarted.md", "Docs/HowDeliveryWorks.md", "Docs/Testing.md", "Docs/Tracing.md",
        "Docs/Migrating.md", "Docs/Architecture.md", "Docs/WritingAProcessor.md", "Docs/WritingAStore.md",
        "Docs/WritingATransport.md", "Docs/WritingAWireFormat.md",
    ]

    /// The Swift blocks of a page, without imports and without the indentation that all lines share.
    static func blocks(of page: String) throws -> [String] {
        try Repository.text(page).components(separatedBy: "```swift\n").dropFirst().compactMap { rest in
            let block = rest.components(separatedBy: "```")[0]
            // A manifest is compiled by nobody here.
            return block.contains("platforms:") || block.contains(".package(") ? nil : dedented(block)
        }
    }

    /// One string for each line, without imports, empty lines and indentation.
    static func dedented(_ code: String) -> String {
        code.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
            .joined(separator: "\n")
    }

    @Test("every block of Swift is part of an example that is compiled", arguments: guides)
    func blocksAreCompiled(page: String) throws {
        let folder = Repository.root.appending(path: "Examples")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".swift") && !$0.hasPrefix("Benchmarks") && !$0.contains(".build") }
        let sources = try files.map { Self.dedented(try Repository.text("Examples/" + $0)) + "\n" }
        for block in try Self.blocks(of: page) {
            #expect(sources.contains { $0.contains(block + "\n") }, "not in any example:\n\(block)")
        }
    }

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

    @Test("the simplest store has at most 40 lines")
    func simplestStoreIsShort() throws {
        #expect(try Repository.text("Examples/CustomPlugin/ArrayStore.swift").split(separator: "\n").count <= 40)
    }

    @Test("the walk of an event names at most 40 functions, each in the file that it gives")
    func walkNamesExistingFunctions() throws {
        let rows = try Repository.text("Docs/Architecture.md").split(separator: "\n").compactMap { line -> [String]? in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return cells.count == 4 && Int(cells[0]) != nil ? cells : nil
        }
        #expect(rows.map { $0[0] } == (1...max(1, rows.count)).map(String.init))
        #expect((30...40).contains(rows.count))
        for row in rows {
            let function = row[1].replacing("`", with: "").split(separator: "(")[0].split(separator: ".")
            let source = try Repository.text("Sources/" + row[2].replacing("`", with: ""))
            let name = try #require(function.last)
            let declarations = name == "init" ? ["init("] : ["func \(name)(", "func \(name)<"]
            #expect(declarations.contains { source.contains($0) } && source.contains(function[0]), "\(row)")
        }
    }
}
