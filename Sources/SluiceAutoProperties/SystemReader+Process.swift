import Sluice

/// Reads the process, its program, its host and the version of Swift.
extension SystemReader {
    var processProperties: Properties {
        let program = programName
        return Properties(known: [
            "$app_name": program,
            "$process_id": processID,
            "$process_name": program,
            "$host_name": kernel.flatMap { trimmed($0.hostName) },
            "$runtime": "Swift",
            "$runtime_version": Self.compilerVersion,
        ])
    }

    private var programName: String? {
        guard let name = (link("/proc/self/exe") ?? program).split(separator: "/").last else { return nil }
        // The kernel adds this mark if the program was replaced while it runs, for example by an update.
        let mark = " (deleted)"
        return trimmed(name.hasSuffix(mark) ? name.dropLast(mark.count) : name)
    }

    private static var compilerVersion: String {
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
}
