import Foundation

/// The machine and the build that the numbers depend on.
enum Machine {
    static var description: String { "\(processor), \(ProcessInfo.processInfo.activeProcessorCount) cores" }

    private static var processor: String {
        #if os(Linux)
            let file = FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data()
            let lines = String(decoding: file, as: UTF8.self).split(separator: "\n")
            let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last
            return model?.trimmingCharacters(in: .whitespaces) ?? architecture
        #else
            var bytes = [UInt8](repeating: 0, count: 256)
            var size = bytes.count
            guard sysctlbyname("machdep.cpu.brand_string", &bytes, &size, nil, 0) == 0 else { return architecture }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #endif
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "arm64"
        #else
            "unknown processor"
        #endif
    }

    /// The version of the compiler that built this.
    static var swiftVersion: String {
        #if compiler(>=6.5)
            "6.5 or later"
        #elseif compiler(>=6.4)
            "6.4"
        #elseif compiler(>=6.3)
            "6.3"
        #elseif compiler(>=6.2)
            "6.2"
        #else
            "6.1"
        #endif
    }

    static var isOptimized: Bool {
        #if DEBUG
            false
        #else
            true
        #endif
    }
}
