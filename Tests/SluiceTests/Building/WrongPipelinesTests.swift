import Foundation
import Testing

/// Compiles pipelines that can't work, and looks for the message of each.
@Suite struct WrongPipelinesTests {
    /// One mistake in a host's code, and the compiler's message.
    struct Mistake: CustomTestStringConvertible, Sendable {
        let name: String
        let block: String
        let message: String
        var container = "Pipeline"
        var testDescription: String { name }
    }

    static let noStore = "no store: end the block with a store and, after it, a transport"
    static let noTransport = "no transport: put one after the store"
    static let twoStores = "two stores in one route: keep one, or write a Route for each"
    static let lateProcessor = "a processor after the store: put it before the store"
    static let storeWithoutElse = "a store in an `if` without `else`: add an `else` with a store"
    static let unlikeBranches = "the branches of an `if` or `switch` must end with the same kind of stage"
    static let storeBesideRoutes = "a store beside routes: put it and its transport into a Route"

    static let notAStage =
        "not a stage: the type lacks `: Processor`, `: Store` or `: Transport`; a closure needs Transform"

    static let mistakes: [Mistake] = [
        Mistake(name: "empty", block: "", message: "an empty block: write a store and, after it, a transport"),
        Mistake(name: "no store", block: "Tag()", message: noStore),
        Mistake(name: "no store, two processors", block: "Tag()\nTag()", message: noStore),
        Mistake(name: "no transport", block: "Tag()\nMemoryStore()", message: noTransport),
        Mistake(name: "store alone", block: "MemoryStore()", message: noTransport),
        Mistake(
            name: "transport alone", block: "StdoutTransport()",
            message: "no store: put one before the transport, such as MemoryStore()"),
        Mistake(
            name: "transport after a processor", block: "Tag()\nStdoutTransport()",
            message: "a transport without a store: put one before it, such as MemoryStore()"),
        Mistake(name: "two stores", block: "MemoryStore()\nMemoryStore()\nStdoutTransport()", message: twoStores),
        Mistake(
            name: "a store after the transport", block: "MemoryStore()\nStdoutTransport()\nMemoryStore()",
            message: twoStores),
        Mistake(
            name: "two pairs without routes",
            block: "MemoryStore()\nStdoutTransport()\nMemoryStore()\nStdoutTransport()", message: twoStores),
        Mistake(
            name: "two transports", block: "MemoryStore()\nStdoutTransport()\nStdoutTransport()",
            message: "two transports in one route: keep one, or write a Route for each"),
        Mistake(
            name: "transport before the store", block: "StdoutTransport()\nMemoryStore()",
            message: "a transport without a store: put one before it, such as MemoryStore()"),
        Mistake(
            name: "processor after the store", block: "MemoryStore()\nTag()\nStdoutTransport()",
            message: lateProcessor),
        Mistake(
            name: "processor after the transport", block: "MemoryStore()\nStdoutTransport()\nTag()",
            message: lateProcessor),
        Mistake(
            name: "store in an if without else", block: "if flag { MemoryStore() }\nStdoutTransport()",
            message: storeWithoutElse),
        Mistake(
            name: "store and transport in an if without else",
            block: "if flag {\nMemoryStore()\nStdoutTransport()\n}", message: storeWithoutElse),
        Mistake(
            name: "transport in an if without else", block: "MemoryStore()\nif flag { StdoutTransport() }",
            message: "a transport in an `if` without `else`: add an `else` with a transport"),
        Mistake(
            name: "branches that end differently",
            block: "if flag { MemoryStore() } else { Tag() }\nStdoutTransport()", message: unlikeBranches),
        Mistake(
            name: "cases that end differently",
            block: "switch flag {\ncase true: MemoryStore()\ncase false: StdoutTransport()\n}\nStdoutTransport()",
            message: unlikeBranches),
        Mistake(
            name: "stores in a loop", block: "for _ in 0..<3 { MemoryStore() }\nStdoutTransport()",
            message: "a store or transport in a `for`: only processors and routes can be repeated"),
        Mistake(
            name: "a number", block: "Tag()\n42\nMemoryStore()\nStdoutTransport()",
            message: notAStage),
        Mistake(
            name: "a call without result", block: "hello()\nMemoryStore()\nStdoutTransport()",
            message: notAStage),
        Mistake(
            name: "a plugin's type instead of a plugin", block: "Tag.self\nMemoryStore()\nStdoutTransport()",
            message: notAStage),
        Mistake(
            name: "a type without Processor", block: "Untagged()\nMemoryStore()\nStdoutTransport()",
            message: "the type lacks `: Processor`"),
        Mistake(
            name: "an array of a type without Processor", block: "[Untagged()]\nMemoryStore()\nStdoutTransport()",
            message: "the type lacks `: Processor`"),
        Mistake(
            name: "an optional of a type without Processor",
            block: "Optional(Untagged())\nMemoryStore()\nStdoutTransport()", message: "the type lacks `: Processor`"),
        Mistake(
            name: "a function", block: "rename\nMemoryStore()\nStdoutTransport()",
            message: "a closure needs Transform"),
        Mistake(
            name: "stores in an array", block: "[MemoryStore()]\nStdoutTransport()", message: notAStage),
        Mistake(
            name: "an optional store", block: "Optional(MemoryStore())\nStdoutTransport()",
            message: "an optional store: unwrap it, such as with `?? MemoryStore()`"),
        Mistake(
            name: "an optional transport", block: "MemoryStore()\nOptional(StdoutTransport())",
            message: "an optional transport: unwrap it, such as with `?? StdoutTransport()`"),
        Mistake(
            name: "an optional route", block: "Optional(Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n})",
            message: "an optional route: unwrap it with `if let`"),
        Mistake(
            name: "a store without a transport after an array", block: "[Tag()]\nMemoryStore()", message: noTransport),
        Mistake(name: "an optional processor without a store", block: "Optional(Tag())", message: noStore),
        Mistake(
            name: "an array after the store", block: "MemoryStore()\n[Tag()]\nStdoutTransport()",
            message: lateProcessor),
        Mistake(
            name: "processor after a route",
            block: "Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n}\nTag()",
            message: "a processor after a route: put it before the routes or into one of them"),
        Mistake(
            name: "store beside a route",
            block: "Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n}\nMemoryStore()\nStdoutTransport()",
            message: storeBesideRoutes),
        Mistake(
            name: "route after a store and its transport",
            block: "MemoryStore()\nStdoutTransport()\nRoute(\"a\") {\nMemoryStore()\nStdoutTransport()\n}",
            message: storeBesideRoutes),
        Mistake(
            name: "transport beside a route",
            block: "Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n}\nStdoutTransport()",
            message: "a transport beside routes: put it into a Route, after a store"),
        Mistake(
            name: "route without a transport", block: "MemoryStore()", message: noTransport, container: "Route"),
        Mistake(name: "route without a store", block: "Tag()", message: noStore, container: "Route"),
        Mistake(
            name: "route in a route", block: "Route(\"b\") {\nMemoryStore()\nStdoutTransport()\n}",
            message: "a route in a route: put routes beside each other, in the pipeline's block", container: "Route"),
        Mistake(
            name: "empty route", block: "", message: "an empty block: write a store and, after it, a transport",
            container: "Route"),
    ]

    static let preamble = """
        import Sluice
        import SluiceMemory
        import SluiceStdout
        struct Tag: Processor { func process(_ event: inout Event) -> Disposition { .keep } }
        struct Untagged { func process(_ event: inout Event) -> Disposition { .keep } }
        func hello() {}
        func rename(_ event: inout Event) { event.name = "Renamed" }

        """

    @Test("every wrong pipeline is refused with a helpful sentence")
    func wrongPipelinesAreRefusedWithSentence() async throws {
        // One file with a function for each mistake, so that the compiler runs once.
        var source = Self.preamble
        var firstLines: [Int] = []
        for (index, mistake) in Self.mistakes.enumerated() {
            firstLines.append(source.count(where: { $0 == "\n" }) + 1)
            let head = mistake.container == "Route" ? "_ = Route(\"r\")" : "_ = try Pipeline"
            source += "func mistake\(index)(flag: Bool) throws {\n\(head) {\n\(mistake.block)\n}\n}\n"
        }
        let errors = try await Compiler.errors(in: source)

        for (index, mistake) in Self.mistakes.enumerated() {
            let end = index + 1 < firstLines.count ? firstLines[index + 1] : Int.max
            let own = errors.filter { (firstLines[index]..<end).contains($0.line) }.map(\.message)
            #expect(
                own.contains { $0.contains(mistake.message) },
                "\(mistake.name): expected “\(mistake.message)”, and the compiler says \(own)")
        }
    }

    @Test("the same file without mistakes compiles")
    func fileWithoutMistakesCompiles() async throws {
        let source =
            Self.preamble + """
                func right(flag: Bool) throws -> Pipeline {
                    try Pipeline {
                        Tag()
                        if flag { MemoryStore() } else { MemoryStore(capacity: 1) }
                        StdoutTransport()
                    }
                }
                """
        #expect(try await Compiler.errors(in: source).isEmpty)
    }
}
