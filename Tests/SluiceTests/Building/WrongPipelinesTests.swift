import Foundation
import Testing

/// Compiles pipelines that can't work, and looks for the message of each.
@Suite struct WrongPipelinesTests {
    static let noStore = "no store: end the block with a store and, after it, a transport"
    static let noTransport = "no transport: put one after the store"
    static let twoStores = "two stores in one route: keep one, or write a Route for each"
    static let lateProcessor = "a processor after the store: put it before the store"
    static let storeWithoutElse = "a store in an `if` without `else`: add an `else` with a store"
    static let unlikeBranches = "the branches of an `if` or `switch` must end with the same kind of stage"
    static let storeBesideRoutes = "a store beside routes: put it and its transport into a Route"

    static let notAStage =
        "not a stage: the type lacks `: Processor`, `: Store` or `: Transport`; a closure needs Transform"

    static let mistakes = [
        Mistake("", "an empty block: write a store and, after it, a transport"),
        Mistake("Tag()", noStore),
        Mistake("Tag()\nTag()", noStore),
        Mistake("Tag()\nMemoryStore()", noTransport),
        Mistake("MemoryStore()", noTransport),
        Mistake("StdoutTransport()", "no store: put one before the transport, such as MemoryStore()"),
        Mistake("Tag()\nStdoutTransport()", "a transport without a store: put one before it, such as MemoryStore()"),
        Mistake("MemoryStore()\nMemoryStore()\nStdoutTransport()", twoStores),
        Mistake("MemoryStore()\nStdoutTransport()\nMemoryStore()", twoStores),
        Mistake("MemoryStore()\nStdoutTransport()\nMemoryStore()\nStdoutTransport()", twoStores),
        Mistake(
            "MemoryStore()\nStdoutTransport()\nStdoutTransport()",
            "two transports in one route: keep one, or write a Route for each"),
        Mistake(
            "StdoutTransport()\nMemoryStore()", "a transport without a store: put one before it, such as MemoryStore()"),
        Mistake("MemoryStore()\nTag()\nStdoutTransport()", lateProcessor),
        Mistake("MemoryStore()\nStdoutTransport()\nTag()", lateProcessor),
        Mistake("if flag { MemoryStore() }\nStdoutTransport()", storeWithoutElse),
        Mistake("if flag {\nMemoryStore()\nStdoutTransport()\n}", storeWithoutElse),
        Mistake(
            "MemoryStore()\nif flag { StdoutTransport() }",
            "a transport in an `if` without `else`: add an `else` with a transport"),
        Mistake("if flag { MemoryStore() } else { Tag() }\nStdoutTransport()", unlikeBranches),
        Mistake(
            "switch flag {\ncase true: MemoryStore()\ncase false: StdoutTransport()\n}\nStdoutTransport()",
            unlikeBranches),
        Mistake(
            "for _ in 0..<3 { MemoryStore() }\nStdoutTransport()",
            "a store or transport in a `for`: only processors and routes can be repeated"),
        Mistake("Tag()\n42\nMemoryStore()\nStdoutTransport()", notAStage),
        Mistake("hello()\nMemoryStore()\nStdoutTransport()", notAStage),
        Mistake("Tag.self\nMemoryStore()\nStdoutTransport()", notAStage),
        Mistake("Untagged()\nMemoryStore()\nStdoutTransport()", "the type lacks `: Processor`"),
        Mistake("[Untagged()]\nMemoryStore()\nStdoutTransport()", "the type lacks `: Processor`"),
        Mistake("Optional(Untagged())\nMemoryStore()\nStdoutTransport()", "the type lacks `: Processor`"),
        Mistake("rename\nMemoryStore()\nStdoutTransport()", "a closure needs Transform"),
        Mistake("[MemoryStore()]\nStdoutTransport()", notAStage),
        Mistake(
            "Optional(MemoryStore())\nStdoutTransport()",
            "an optional store: unwrap it, such as with `?? MemoryStore()`"),
        Mistake(
            "MemoryStore()\nOptional(StdoutTransport())",
            "an optional transport: unwrap it, such as with `?? StdoutTransport()`"),
        Mistake(
            "Optional(Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n})",
            "an optional route: unwrap it with `if let`"),
        Mistake("[Tag()]\nMemoryStore()", noTransport),
        Mistake("Optional(Tag())", noStore),
        Mistake("MemoryStore()\n[Tag()]\nStdoutTransport()", lateProcessor),
        Mistake(
            "Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n}\nTag()",
            "a processor after a route: put it before the routes or into one of them"),
        Mistake(
            "Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n}\nMemoryStore()\nStdoutTransport()", storeBesideRoutes),
        Mistake(
            "MemoryStore()\nStdoutTransport()\nRoute(\"a\") {\nMemoryStore()\nStdoutTransport()\n}", storeBesideRoutes),
        Mistake(
            "Route(\"a\") {\nMemoryStore()\nStdoutTransport()\n}\nStdoutTransport()",
            "a transport beside routes: put it into a Route, after a store"),
        Mistake("MemoryStore()", noTransport, container: "Route"),
        Mistake("Tag()", noStore, container: "Route"),
        Mistake(
            "Route(\"b\") {\nMemoryStore()\nStdoutTransport()\n}",
            "a route in a route: put routes beside each other, in the pipeline's block", container: "Route"),
        Mistake("", "an empty block: write a store and, after it, a transport", container: "Route"),
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
            source += "func mistake\(index)(flag: Bool) throws {\n\(head) {\n\(mistake.code)\n}\n}\n"
        }
        let errors = try await Compiler.errors(in: source)

        for (index, mistake) in Self.mistakes.enumerated() {
            let end = index + 1 < firstLines.count ? firstLines[index + 1] : Int.max
            let own = errors.filter { (firstLines[index]..<end).contains($0.line) }.map(\.message)
            #expect(
                own.contains { $0.contains(mistake.message) },
                "\(mistake.code): expected “\(mistake.message)”, and the compiler says \(own)")
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
