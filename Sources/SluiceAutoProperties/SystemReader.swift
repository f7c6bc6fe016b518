package import Sluice

/// What the automatic properties are read from: the system's files and calls, or a test's.
package struct SystemReader: Sendable {
    /// What `uname` says.
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

    /// The text of a file; nil if there is none that can be read.
    package var file: @Sendable (_ path: String) -> String?
    /// Where a symbolic link points to.
    package var link: @Sendable (_ path: String) -> String?
    /// The names in a directory; none if it cannot be read.
    package var names: @Sendable (_ directory: String) -> [String]
    package var environment: @Sendable (_ name: String) -> String?
    package var kernel: Kernel?
    package var processID: Int
    /// The path by which the process was started.
    package var program: String
    package var processorCount: Int?
    /// Minutes east of UTC at a moment.
    package var utcOffset: @Sendable (Timestamp) -> Int?
    /// What frameworks tell and no file does.
    package var platform: Properties
    /// The same, of the network at this moment.
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

    /// All automatic properties but those of the library and the network; of a name that several sources tell, the first.
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
