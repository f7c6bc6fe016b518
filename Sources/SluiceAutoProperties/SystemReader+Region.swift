import Sluice

extension SystemReader {
    /// Language and time zone.
    var region: Properties {
        Properties(known: [
            "$locale": locale.map { .string($0) },
            "$timezone": timeZone.map { .string($0) },
        ])
    }

    /// By locale(7), the first of these that is set decides; without its encoding and modifier.
    private var locale: String? {
        let value = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment($0) }.first { !$0.isEmpty }
        guard let name = value?.prefix(while: { $0 != "." && $0 != "@" }), !["", "C", "POSIX"].contains(name) else {
            return nil
        }
        return String(name)
    }

    /// The name in the time zone database, such as `Europe/Berlin`: by tzset(3), then by what distributions keep.
    private var timeZone: String? {
        if let variable = environment("TZ") {
            // Set but empty, it means UTC.
            let value = variable.hasPrefix(":") ? variable.dropFirst() : variable[...]
            return value.isEmpty ? "UTC" : zone(inPath: value)
        }
        return link("/etc/localtime").flatMap { zone(inPath: $0[...]) } ?? line("/etc/timezone")
    }

    private func zone(inPath path: Substring) -> String? {
        guard path.contains("/zoneinfo/") || path.hasPrefix("/") else { return String(path) }
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard let root = parts.lastIndex(of: "zoneinfo"), root + 1 < parts.count else { return nil }
        return parts[(root + 1)...].joined(separator: "/")
    }
}
