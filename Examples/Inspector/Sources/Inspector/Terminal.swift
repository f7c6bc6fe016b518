import Foundation

/// Standard output and standard error.
enum Terminal {
    /// Whether to print colors: on a terminal, unless the variable NO_COLOR is set.
    static var isColored: Bool {
        isTerminal && ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty
    }

    /// Whether standard output is a terminal, which interprets control characters.
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The exit status if nobody reads the output: the one that a shell reports for SIGPIPE.
    private static let brokenPipeStatus: Int32 = 141

    /// Otherwise a replay would end as soon as the reader of standard error ends.
    private static let ignoresBrokenPipes: Void = {
        signal(SIGPIPE, SIG_IGN)
    }()

    /// Returns a number with its noun: `1 event`, `2,000 events`.
    static func counted(_ count: Int, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Returns a number with separators of thousands.
    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// Writes to standard output. Ends the command if that fails.
    static func write(_ text: String) {
        do throws(WriteFailure) {
            try write(text, to: STDOUT_FILENO)
        } catch {
            if error.isBrokenPipe { exit(brokenPipeStatus) }
            note("the output can't be written: \(error)")
            exit(EXIT_FAILURE)
        }
    }

    /// Writes a line to standard error.
    static func note(_ text: String) {
        do throws(WriteFailure) {
            try write(printable(text) + "\n", to: STDERR_FILENO)
        } catch {
            // There is no other place for messages, and a replay continues without them.
        }
    }

    /// Writes all of a text. Waits while a non-blocking descriptor is full.
    static func write(_ text: String, to descriptor: Int32) throws(WriteFailure) {
        try write(Array(text.utf8), to: descriptor)
    }

    /// Writes all bytes. Waits while a non-blocking descriptor is full.
    static func write(_ bytes: [UInt8], to descriptor: Int32) throws(WriteFailure) {
        _ = ignoresBrokenPipes
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if count == 0 {
                throw WriteFailure(code: EIO)
            } else if errno == EAGAIN {
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&request, 1, -1)
            } else if errno != EINTR {
                throw WriteFailure(code: errno)
            }
        }
    }

    /// Returns the beginning of a text, with "…" if that isn't all of it.
    static func beginning(of text: String, characters: Int) -> String {
        // A character can have any number of combining marks.
        let scalars = text.unicodeScalars.prefix(characters * 4)
        let beginning = String(String.UnicodeScalarView(scalars)).prefix(characters)
        return beginning.utf8.count < text.utf8.count ? beginning + "…" : text
    }

    /// Escapes the characters that control a terminal or reverse the direction of its text: an event can contain any.
    static func printable(_ text: String) -> String {
        escaping(text) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// Escapes the same characters in JSON, which keeps its meaning: they can only be part of strings.
    static func printableJSON(_ text: String) -> String {
        escaping(text) { scalar in
            String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    /// Writes a line of JSON to standard output.
    static func writeJSON(_ text: String) {
        write((isTerminal ? printableJSON(text) : text) + "\n")
    }

    private static func escaping(_ text: String, _ escape: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isUnprintable) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isUnprintable(scalar) {
                result.append(contentsOf: escape(scalar).unicodeScalars)
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

/// A failed write to a file descriptor.
struct WriteFailure: Error, CustomStringConvertible {
    let code: Int32

    /// Whether the reader has ended.
    var isBrokenPipe: Bool { code == EPIPE }

    var description: String { String(cString: strerror(code)) }
}

/// `Terminal.write` hides the function of the system.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
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
