import Sluice
import SluiceLibC

extension SystemReader {
    /// Reads the system on which the process runs.
    static var current: SystemReader {
        tzset()
        var reader = SystemReader(
            contents: { contents(of: $0) },
            link: { target(ofLink: $0) },
            names: { names(in: $0) },
            environment: { name in getenv(name).map { String(cString: $0) } },
            kernel: currentKernel,
            processID: Int(getpid()),
            program: CommandLine.arguments.first ?? "",
            processorCount: onlineProcessors,
            utcOffset: { LocalTime.utcOffset(at: $0) })
        #if canImport(UIKit) || canImport(AppKit)
            reader.platform = applePlatform
            reader.networkType = { appleNetworkType }
        #endif
        return reader
    }

    /// More than any of the files contains.
    private static let maximumBytes = 1_048_576

    private static func contents(of path: String) -> [UInt8]? {
        // Some of the files are behind a link.
        guard let file = realpath(path, nil) else { return nil }
        defer { free(file) }
        return attempt(
            try OpenFile(String(cString: file), [], in: SystemFileSystem()).read(upTo: maximumBytes), or: nil)
    }

    private static func target(ofLink path: String) -> String? {
        attempt(try SystemFileSystem().target(of: path), or: nil)
    }

    private static func names(in directory: String) -> [String] {
        attempt(try SystemFileSystem().list(directory), or: [])
    }

    private static var currentKernel: Kernel? {
        var name = utsname()
        guard uname(&name) == 0 else { return nil }
        func text(_ field: some Any) -> String {
            withUnsafeBytes(of: field) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
        }
        #if canImport(Darwin)
            // Left out, because people name their devices after themselves.
            let hostName = ""
        #else
            let hostName = text(name.nodename)
        #endif
        return Kernel(
            name: text(name.sysname), release: text(name.release), machine: text(name.machine), hostName: hostName)
    }

    private static var onlineProcessors: Int? {
        let count = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        return count > 0 ? Int(count) : nil
    }
}
