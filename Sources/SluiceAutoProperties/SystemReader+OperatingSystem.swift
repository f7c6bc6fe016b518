import Sluice

/// Reads the kernel, and the distribution from os-release(5).
extension SystemReader {
    var operatingSystemProperties: Properties {
        let release = OSRelease(file("/etc/os-release") ?? file("/usr/lib/os-release") ?? "")
        return Properties(known: [
            "$os": kernel.flatMap { trimmed($0.name) }.map { .string($0) },
            "$os_name": release.values["NAME"].map { .string($0) },
            "$os_version": release.values["VERSION_ID"].map { .string($0) },
            "$kernel_version": kernel.flatMap { trimmed($0.release) }.map { .string($0) },
            "$architecture": kernel.flatMap { trimmed($0.machine) }.map { .string($0) },
        ])
    }
}

/// The assignments of an os-release file, whose syntax is a shell's without expansions.
struct OSRelease {
    /// The values of the variables that aren't empty.
    private(set) var values: [String: String] = [:]

    init(_ text: String) {
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equals])] = trimmed(OSRelease.unquoted(line[line.index(after: equals)...]))
        }
    }

    private static func unquoted(_ text: Substring) -> String {
        var result = ""
        var quote: Character?
        var isEscaped = false
        for character in text {
            if isEscaped {
                result.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "\"" || character == "'" {
                quote = character
            } else {
                result.append(character)
            }
        }
        return result
    }
}
