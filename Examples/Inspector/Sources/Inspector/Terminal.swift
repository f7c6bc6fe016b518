import Foundation

/// Standard output and standard error.
enum Terminal {
    /// Whether to print colors: on a terminal, unless the variable NO_COLOR is set.
    static var isColored: Bool {
        isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty
    }

    static func write(_ text: String) {
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// Writes a line to standard error.
    static func note(_ text: String) {
        FileHandle.standardError.write(Data((printable(text) + "\n").utf8))
    }

    /// Escapes the characters that control a terminal or reverse the direction of its text: an event can contain any.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnprintable) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isUnprintable(scalar) {
                result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}

/// The colors of a line.
enum Style: String {
    case dim = "2"
    case name = "1;36"
    case critical = "1;31"

    func callAsFunction(_ text: String, isColored: Bool) -> String {
        isColored ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}
