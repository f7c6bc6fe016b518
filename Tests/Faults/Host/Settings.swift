import SluiceJSONL

/// The command line of the host.
struct Settings {
    var directory = ""
    var durability = JSONLStore.Durability.process
    var capacity = 64 << 20
    /// Distinguishes the events of one process from those of another.
    var writer = 0
    /// The number of the first event.
    var first = 1
    /// The largest filler of an ordinary event, in bytes.
    var filler = 600
    var batch = 50
    /// Delivery runs all the time, not only during `deliver`.
    var delivers = false
    /// Only the store is used, from one thread, so that every run makes the same system calls.
    var isDirect = false
    /// After the commands of the command line, those of the standard input follow.
    var isInteractive = false
    /// The folder of a lake, or the URL of a bucket, to which the events are delivered.
    var lake: String?
    var isPlain = false
    var commands: [String] = []

    init(_ arguments: ArraySlice<String>) {
        var rest = arguments
        func value() -> String { rest.popFirst() ?? { System.fail("an option without its value") }() }
        func number() -> Int { Int(value()) ?? { System.fail("an option without its number") }() }
        while let argument = rest.popFirst() {
            switch argument {
            case "--durability": durability = Settings.durability(value())
            case "--capacity": capacity = number()
            case "--writer": writer = number()
            case "--first": first = number()
            case "--filler": filler = number()
            case "--batch": batch = number()
            case "--delivers": delivers = true
            case "--direct": isDirect = true
            case "--interactive": isInteractive = true
            case "--lake": lake = value()
            case "--plain": isPlain = true
            default:
                if argument.hasPrefix("--") { System.fail("no option \(argument)") }
                if directory.isEmpty { directory = argument } else { commands.append(argument) }
            }
        }
        if directory.isEmpty { System.fail("FaultHost run DIRECTORY [OPTION…] [COMMAND…]") }
    }

    private static func durability(_ word: String) -> JSONLStore.Durability {
        switch word {
        case "buffered": return .buffered
        case "process": return .process
        case "full": return .full
        default:
            let parts = word.split(separator: ":")
            guard parts.count == 2, parts[0] == "interval", let milliseconds = Int(parts[1]) else {
                System.fail("no durability \(word)")
            }
            return .interval(milliseconds: milliseconds)
        }
    }
}
