import Sluice

/// Reads language, country and time zone.
struct RegionReader {
    let system: SystemReader

    var properties: Properties {
        let locale = locale
        return Properties(known: [
            "$locale": locale.map { .string($0) },
            "$country": locale.flatMap(country).map { .string($0) },
            "$timezone": timeZone.map { .string($0) },
        ])
    }

    /// The locale without its encoding and modifier. By locale(7), the first of these variables that is set decides.
    private var locale: String? {
        let value = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { system.environment($0) }.first { !$0.isEmpty }
        guard let name = value?.prefix(while: { $0 != "." && $0 != "@" }), !["", "C", "POSIX"].contains(name) else {
            return nil
        }
        return String(name)
    }

    /// The country by ISO 3166: two letters, or three digits for a region larger than a country.
    private func country(of locale: String) -> String? {
        guard let mark = locale.lastIndex(where: { $0 == "_" || $0 == "-" }) else { return nil }
        let name = locale[locale.index(after: mark)...]
        let isCountry = name.utf8.count == 2 && name.allSatisfy { $0.isASCII && $0.isLetter }
        let isRegion = name.utf8.count == 3 && name.allSatisfy { $0.isASCII && $0.isNumber }
        return isCountry || isRegion ? name.uppercased() : nil
    }

    /// The name in the time zone database, such as `Europe/Berlin`, from tzset(3) or from the files of distributions.
    ///
    /// A name without a file of rules is left out: the C library then runs as UTC, for example in a container without
    /// `tzdata`. UTC itself needs no file, and an empty `TZ` means UTC.
    private var timeZone: String? {
        guard let variable = system.environment("TZ") else {
            guard isZone("/etc/localtime") else { return nil }
            return system.link("/etc/localtime").flatMap { zone(inPath: $0[...]) }
                ?? system.line("/etc/timezone").flatMap { isZone(file(of: $0[...])) ? $0 : nil }
        }
        let value = variable.hasPrefix(":") ? variable.dropFirst() : variable[...]
        if value.isEmpty || value == "UTC" { return "UTC" }
        return isZone(file(of: value)) ? zone(inPath: value) : nil
    }

    private func file(of zone: Substring) -> String {
        zone.hasPrefix("/") ? String(zone) : "\(system.environment("TZDIR") ?? "/usr/share/zoneinfo")/\(zone)"
    }

    private func isZone(_ path: String) -> Bool { system.file(path)?.hasPrefix("TZif") == true }

    private func zone(inPath path: Substring) -> String? {
        guard path.contains(text: "/zoneinfo/") || path.hasPrefix("/") else { return String(path) }
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        guard let root = parts.lastIndex(of: "zoneinfo"), root + 1 < parts.count else { return nil }
        return parts[(root + 1)...].joined(separator: "/")
    }
}
