package import Sluice

/// The source of the automatic properties: the system's files and calls, or a test's.
package struct SystemReader: Sendable {
    /// The result of `uname`.
    package struct Kernel: Sendable {
        package var name: String
        package var release: String
        package var machine: String
        package var hostName: String

        package init(name: String, release: String, machine: String, hostName: String) {
            self.name = name
            self.release = release
            self.machine = machine
            self.hostName = hostName
        }
    }

    /// Returns the text of a file, or nil if it can't be read.
    package var file: @Sendable (_ path: String) -> String?
    /// Returns the target of a symbolic link.
    package var link: @Sendable (_ path: String) -> String?
    /// Returns the names in a directory; empty if it can't be read.
    package var names: @Sendable (_ directory: String) -> [String]
    package var environment: @Sendable (_ name: String) -> String?
    package var kernel: Kernel?
    package var processID: Int
    /// The path of the process's program.
    package var program: String
    package var processorCount: Int?
    /// Minutes east of UTC at a moment.
    package var utcOffset: @Sendable (Timestamp) -> Int?
    /// Properties that come from frameworks, not from files.
    package var platform: Properties
    /// Returns the kind of network at this moment.
    package var networkType: @Sendable () -> String?

    package init(
        file: @escaping @Sendable (String) -> String? = { _ in nil },
        link: @escaping @Sendable (String) -> String? = { _ in nil },
        names: @escaping @Sendable (String) -> [String] = { _ in [] },
        environment: @escaping @Sendable (String) -> String? = { _ in nil },
        kernel: Kernel? = nil,
        processID: Int = 1,
        program: String = "",
        processorCount: Int? = nil,
        utcOffset: @escaping @Sendable (Timestamp) -> Int? = { _ in nil },
        platform: Properties = [:],
        networkType: @escaping @Sendable () -> String? = { nil }
    ) {
        self.file = file
        self.link = link
        self.names = names
        self.environment = environment
        self.kernel = kernel
        self.processID = processID
        self.program = program
        self.processorCount = processorCount
        self.utcOffset = utcOffset
        self.platform = platform
        self.networkType = networkType
    }

    /// All automatic properties except those of the library and the network. If several sources have a name, the first counts.
    func collect() -> Properties {
        var properties = platform
        properties.addDefaults(process)
        properties.addDefaults(operatingSystem)
        properties.addDefaults(hardware)
        properties.addDefaults(region)
        properties.addDefaults(container)
        return properties
    }

    /// The first line of a file without the blanks around it; nil if nothing remains.
    func line(_ path: String) -> String? {
        file(path)?.split(whereSeparator: \.isNewline).first.flatMap { trimmed($0) }
    }
}

/// Without blanks and NUL at both ends; nil if nothing remains.
func trimmed(_ text: some StringProtocol) -> String? {
    func isBlank(_ character: Character) -> Bool { character.isWhitespace || character == "\0" }
    guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) })
    else { return nil }
    return String(text[first...last])
}

extension Properties {
    /// Nil leaves the property out.
    init(known properties: KeyValuePairs<String, PropertyValue?>) {
        self.init(properties.compactMap { name, value in value.map { (name, $0) } })
    }
}
