import Sluice

/// The source of the automatic properties: the system's files and calls, or the ones of a test.
struct SystemReader: Sendable {
    /// The result of `uname`.
    struct Kernel: Sendable {
        var name: String
        var release: String
        var machine: String
        var hostName: String
    }

    /// Returns the bytes of a file, or nil if it can't be read.
    var contents: @Sendable (_ path: String) -> [UInt8]? = { _ in nil }
    /// Returns the target of a symbolic link.
    var link: @Sendable (_ path: String) -> String? = { _ in nil }
    /// Returns the names in a directory. Empty if it can't be read.
    var names: @Sendable (_ directory: String) -> [String] = { _ in [] }
    var environment: @Sendable (_ name: String) -> String? = { _ in nil }
    var kernel: Kernel?
    var processID: Int = 1
    /// The path of the process's program.
    var program: String = ""
    var processorCount: Int?
    /// Returns the minutes east of UTC at a moment.
    var utcOffset: @Sendable (Timestamp) -> Int? = { _ in nil }
    /// Properties that come from frameworks instead of files.
    var platform: Properties = [:]
    /// Returns the kind of network at this moment.
    var networkType: @Sendable () -> String? = { nil }

    /// Returns all automatic properties except the library's and the network's. If several sources have a name, the
    /// first one is used.
    func collect() -> Properties {
        [
            processProperties, operatingSystemProperties, hardwareProperties, regionProperties, containerProperties,
        ].reduce(into: platform) { $0.addDefaults($1) }
    }

    /// Returns the text of a file. Invalid UTF-8 is repaired, because the text becomes the value of a property.
    func file(_ path: String) -> String? { contents(path).map { String(decoding: $0, as: UTF8.self) } }

    /// Returns the first line of a file without the blanks around it. Nil if it is empty.
    func line(_ path: String) -> String? {
        file(path)?.parts(by: "\n").first.flatMap { trimmed($0) }
    }
}

/// Removes blanks and NUL from both ends. Returns nil if nothing remains.
func trimmed(_ text: some StringProtocol) -> String? {
    func isBlank(_ character: Character) -> Bool { character.isWhitespace || character == "\0" }
    guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) })
    else { return nil }
    return String(text[first...last])
}

extension StringProtocol where SubSequence == Substring {
    /// The parts between any of these ASCII characters, without empty ones. They are found by bytes, which takes a quarter of the
    /// time: a host can have thousands of mounts and routes.
    func parts(by separators: String) -> [Substring] {
        let separators = Array(separators.utf8)
        return self[...].utf8.split { separators.contains($0) }.map { Substring($0) }
    }
}

extension StringProtocol {
    // The method of Swift's library would add 1 MB of regular expressions to a static binary.
    func contains(text: String) -> Bool { indices.contains { self[$0...].hasPrefix(text) } }
}
