/// The options of the command line.
struct Options {
    enum Output {
        case text, json, markdown
    }

    var output = Output.text
    var chart: String?
    var events = 2_000
    var rounds = 31
    /// The waiting segments of the rows about a backlog.
    var segments = 4_000
    /// Parts of the names of the rows to measure. Their baselines are measured too. All rows if it is empty.
    var filter: [String] = []

    static let usage = """
        usage: Benchmarks [--json | --table] [--chart FILE] [--events N] [--rounds N] [--segments N] [--filter TEXT,…]

          --json         a line of JSON for each row
          --table        a table in Markdown
          --chart FILE   writes a bar chart as SVG
          --events N     events of a round (2000)
          --rounds N     number of rounds (31)
          --segments N   waiting segments of the rows about a backlog (4000)
          --filter TEXT  only rows whose names contain TEXT, and their baselines; several with commas between them
        """

    init(_ arguments: some Sequence<String>) throws {
        var rest = arguments.makeIterator()
        while let option = rest.next() {
            switch option {
            case "--json": output = .json
            case "--table": output = .markdown
            case "--chart": chart = try Options.text(rest.next(), of: option)
            case "--events": events = try Options.number(rest.next(), of: option)
            case "--rounds": rounds = try Options.number(rest.next(), of: option)
            case "--segments": segments = try Options.number(rest.next(), of: option)
            case "--filter": filter = try Options.text(rest.next(), of: option).split(separator: ",").map(String.init)
            default: throw Failure("unknown option \(option)\n\(Options.usage)")
            }
        }
    }

    private static func text(_ text: String?, of option: String) throws -> String {
        guard let text else { throw Failure("\(option) needs a text\n\(usage)") }
        return text
    }

    private static func number(_ text: String?, of option: String) throws -> Int {
        guard let text, let number = Int(text), number > 0 else {
            throw Failure("\(option) needs a number above 0\n\(usage)")
        }
        return number
    }
}
