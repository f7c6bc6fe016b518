import Sluice

/// Reads the kernel, and the distribution from os-release(5).
extension SystemReader {
    var operatingSystemProperties: Properties {
        let release = OSRelease(file("/etc/os-release") ?? file("/usr/lib/os-release") ?? "")
        return Properties(known: [
            "$os": kernel.flatMap { trimmed($0.name) },
            "$os_name": release.values["NAME"],
            "$os_version": release.values["VERSION_ID"],
            "$kernel_version": kernel.flatMap { trimmed($0.release) },
            "$architecture": kernel.flatMap { trimmed($0.machine) },
        ])
    }
}

/// The assignments of an os-release file, whose syntax is a shell's without expansions.
struct OSRelease {
    /// The values of the variables that aren't empty.
    private(set) var values: [String: String] = [:]

    init(_ text: String) {
        for line in text.parts(by: "\n") where !line.hasPrefix("#") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equals])] = trimmed(OSRelease.unquoted(line[line.index(after: equals)...]))
        }
    }

    private static func unquoted(_ text: Substring) -> String {
        let quote = text.first.flatMap { $0 == "\"" || $0 == "'" ? $0 : nil }
        var (rest, result) = (quote == nil ? text : text.dropFirst(), "")
        while let character = rest.popFirst(), character != quote {
            let escaped = character == "\\" && quote != "'" ? rest.popFirst() : nil
            result.append(escaped ?? character)
        }
        return result
    }
}
