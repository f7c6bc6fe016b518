/// What the command line asks for.
struct Options {
    var isJSON = false
    var events = 5_000
    var rounds = 11
    /// Rows whose names contain it; the bare write is always among them, because all others are compared with it.
    var filter = ""

    static let usage = """
        usage: Benchmarks [--json] [--events N] [--rounds N] [--filter TEXT]

          --json         a line of JSON for each row, in place of the table
          --events N     events a round (5000)
          --rounds N     rounds, of which the median counts (11)
          --filter TEXT  only rows whose names contain TEXT, beside "write"
        """

    init(_ arguments: some Sequence<String>) throws {
        var rest = arguments.makeIterator()
        while let option = rest.next() {
            switch option {
            case "--json": isJSON = true
            case "--events": events = try Options.number(rest.next(), of: option)
            case "--rounds": rounds = try Options.number(rest.next(), of: option)
            case "--filter":
                guard let text = rest.next() else { throw Failure("--filter needs a text\n\(Options.usage)") }
                filter = text
            default: throw Failure("\(option) is no option\n\(Options.usage)")
            }
        }
    }

    private static func number(_ text: String?, of option: String) throws -> Int {
        guard let text, let number = Int(text), number > 0 else {
            throw Failure("\(option) needs a number above 0\n\(usage)")
        }
        return number
    }
}
