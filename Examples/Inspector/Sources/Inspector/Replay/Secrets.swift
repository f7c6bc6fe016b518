import ArgumentParser
import Foundation

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

    /// The names of headers that hold secrets contain one of these.
    private static let secretNames = ["authorization", "cookie", "key", "token", "secret", "password"]

    func validate() throws {
        for header in header {
            let name = header.prefix { $0 != ":" }
            guard !Secrets.secretNames.contains(where: name.lowercased().contains) else {
                throw ValidationError(
                    "\(name) as an argument is visible to other users: put the header into a file for --header-file, or "
                        + "into SLUICE_HEADERS")
            }
        }
    }

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
