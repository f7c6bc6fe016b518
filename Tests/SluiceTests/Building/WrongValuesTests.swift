import Foundation
import Testing

/// Compiles values that no event can have, and looks for one clear error each.
@Suite struct WrongValuesTests {
    /// The sentence for values of Foundation, and for literals in the literal.
    private static let unfit = """
        a value can't be a property: Date, URL, UUID, Decimal and Data need `import SluiceFoundation`, values of several \
        types `.array([…])` or `.object([…])`, types of yours `: PropertyConvertible`
        """

    static let mistakes = [
        Mistake(
            #"pipeline.track("E", ["v": foo])"#,
            "cannot convert value of type 'Foo' to expected dictionary value type 'PropertyValue'"),
        Mistake(
            #"pipeline.track("E", ["v": query, "w": foo])"#,
            "cannot convert value of type 'Foo' to expected dictionary value type 'any PropertyConvertible'"),
        Mistake(#"pipeline.track("E", ["v": anything])"#, "cannot convert value of type 'Any'"),
        Mistake(#"pipeline.track("E", ["v": anyValues])"#, unfit),
        Mistake(#"pipeline.track("E", anyValues)"#, "cannot convert value of type '[String : Any]'"),
        Mistake("_ = Properties(anyValues)", "write `try Properties(converting: …)` for [String: Any]"),
        Mistake(#"_ = Properties(["v": query, "w": foo])"#, "`: PropertyConvertible` behind a type of yours"),
        Mistake(#"pipeline.track("E", ["v": date])"#, unfit),
        Mistake(#"pipeline.track("E", ["v": query, "w": date, "x": nil])"#, unfit),
        Mistake(#"pipeline.track("E", ["v": query, "w": [date]], priority: .critical)"#, unfit),
        Mistake(#"pipeline.track("E", ["v": query, "w": URL(string: query)]) { $0.loginID = "7" }"#, unfit),
        Mistake(#"pipeline.track("E", ["v": UUID()])"#, unfit),
        Mistake(#"pipeline.track("E", ["v": Data(), "w": Decimal(1)])"#, unfit),
        Mistake(#"(pipeline as any EventTracking).track("E", ["v": date])"#, unfit),
        Mistake(#"pipeline.track("E", ["v": query, "range": [1, "end"]])"#, unfit),
        Mistake(#"pipeline.track("E", ["v": query, "range": ["from": 1, "to": "end"]])"#, unfit),
        Mistake(#"pipeline.track("E", ["v": optional])"#, "cannot convert value of type 'Foo?'"),
        Mistake(#"pipeline.track("E", ["v": Bare.a])"#, "cannot convert value of type 'Bare'"),
        Mistake(#"pipeline.track("E", ["v": [1: "one", 2: query]])"#, unfit),
        Mistake(#"pipeline.track("E", ["v": { count }])"#, "cannot convert value of type '() -> Int'"),
        Mistake(#"pipeline.track("E", ["v": (1, count)])"#, "cannot convert value of type '(Int, Int)'"),
        Mistake(#"pipeline.track("E", ["v": [foo]])"#, unfit),
        Mistake(#"pipeline.track("E", [foo: "v"])"#, "cannot convert value of type 'Foo' to expected dictionary key"),
        Mistake(
            #"pipeline.track("E", [count: query, "w": 1])"#,
            "cannot convert value of type 'Int' to expected dictionary key"),
        Mistake(#"pipeline.track("E", ["v"])"#, "dictionary of type 'Properties' cannot be used with array literal"),
        Mistake(#"pipeline.track("E", ["v": query + count])"#, "binary operator '+' cannot be applied"),
        Mistake(#"pipeline.track("E", query)"#, "cannot convert value of type 'String'"),
        Mistake(#"pipeline.track(count, ["v": query])"#, "cannot convert value of type 'Int'"),
        Mistake(#"pipeline.track("E", ["v": unknown])"#, "cannot find 'unknown' in scope"),
        Mistake(#"enum Kind: PropertyConvertible { case a }"#, "type 'Kind' does not conform to protocol"),
        Mistake(#"struct Wrong: TrackedEvent { let foo: Foo }"#, "type 'Wrong' does not conform to protocol"),
    ]

    @Test("a value that no event can have is one clear error")
    func wrongValuesAreOneErrorEach() async throws {
        var lines = ["import Foundation", "import Sluice", "struct Foo {}", "enum Bare { case a }"]
        var places: [Int] = []
        for (index, mistake) in Self.mistakes.enumerated() {
            lines.append("func host\(index)(pipeline: Pipeline, foo: Foo, optional: Foo?, query: String, count: Int,")
            lines.append("    anything: Any, anyValues: [String: Any], date: Date) {")
            lines.append(mistake.code)
            places.append(lines.count)
            lines.append("}")
        }
        // One run for all: each start of the compiler disturbs tests of other processes' locks.
        let errors = try await Compiler.errors(in: lines.joined(separator: "\n"))
        for (mistake, line) in zip(Self.mistakes, places) {
            let messages = errors.filter { $0.line == line }.map(\.message)
            #expect(messages.contains { $0.contains(mistake.message) }, "\(mistake.code): \(messages)")
            // A type that conforms to nothing has an error for each missing conformance.
            #expect(
                messages.count == 1 || messages.allSatisfy { $0.hasPrefix("type 'Wrong'") },
                "\(mistake.code): \(messages)")
        }
        #expect(errors.allSatisfy { places.contains($0.line) }, "\(errors)")
    }
}
