import ArgumentParser
import Foundation
import SluiceFilters

/// The headers and the key of a backend.
///
/// Other users of the machine can see the arguments of a command, and the shell keeps them in its history. So a secret
/// comes from a file or the environment.
struct Secrets: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A header for each request, without a secret. You can repeat the option.", valueName: "name: value"))
    var header: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file with one header in each line, such as \"Authorization: Bearer …\". SLUICE_HEADERS can have the same text.",
            valueName: "file"),
        completion: .file())
    var headerFile: String?

    @Option(
        help: ArgumentHelp("A file with the key of the format. SLUICE_KEY can have it too.", valueName: "file"),
        completion: .file())
    var keyFile: String?

    func validate() throws {
        for header in header {
            let name = String(header.prefix { $0 != ":" })
            guard !Secrets.isSecret(name) else {
                throw ValidationError(
                    "\(name) as an argument is visible to other users: put the header into a file for --header-file, or "
                        + "into SLUICE_HEADERS")
            }
        }
    }

    /// Whether a header holds a secret. The library's rule is for properties: in a request, each key and cookie is secret, too.
    private static func isSecret(_ name: String) -> Bool {
        var header = Event(
            id: EventID(high: 0, low: 0), name: "", time: Timestamp(milliseconds: 0), properties: [name: ""])
        _ = Redaction().process(&header)
        let words = name.lowercased().split { !$0.isLetter }
        return header.properties[name] == "[redacted]" || words.contains("key") || words.contains("cookie")
    }

    /// Whether no argument gives a header or a key. The environment can have some for other commands.
    var isEmpty: Bool { header.isEmpty && headerFile == nil && keyFile == nil }

    /// All headers as `Name: value`.
    func headers(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws -> [String] {
        let texts = [try headerFile.map(Secrets.contents), environment["SLUICE_HEADERS"]]
        return header
            + texts.compactMap(\.self).flatMap { text in
                text.split(whereSeparator: \.isNewline).map(String.init).filter { !$0.allSatisfy(\.isWhitespace) }
            }
    }

    /// The key of the format.
    func key(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws -> String? {
        try keyFile.map { try Secrets.contents(of: $0).trimmingCharacters(in: .whitespacesAndNewlines) }
            ?? environment["SLUICE_KEY"]
    }

    private static func contents(of path: String) throws -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            throw ValidationError("\(path) can't be read: \(error.localizedDescription)")
        }
    }
}
