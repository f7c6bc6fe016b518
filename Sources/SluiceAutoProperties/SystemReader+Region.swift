import Sluice

/// Reads language, country and time zone.
extension SystemReader {
    var regionProperties: Properties {
        let locale = locale
        return Properties(known: ["$locale": locale, "$country": locale.flatMap(country), "$timezone": timeZone])
    }

    /// The locale without its encoding and modifier. By locale(7), the first of these variables that is set decides. A name
    /// that doesn't begin with the code of a language by ISO 639, such as `C`, is left out.
    private var locale: String? {
        let value = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment($0) }.first { !$0.isEmpty }
        guard let name = value?.prefix(while: { $0 != "." && $0 != "@" }) else { return nil }
        let parts = name.split(omittingEmptySubsequences: false) { $0 == "_" || $0 == "-" }
        let isLanguage = parts[0].allSatisfy(\.isLetter) && (2...3).contains(parts[0].count)
        let areCodes = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.count <= 8 && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }
        return isLanguage && areCodes ? String(name) : nil
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
        let variable = environment("TZ").map { $0.hasPrefix(":") ? $0.dropFirst() : $0[...] }
        if variable == "" || variable == "UTC" { return "UTC" }
        let path = variable.map { file(of: $0) } ?? "/etc/localtime"
        guard let rules = contents(path), isWhole(rules) else { return nil }
        if let variable, !variable.hasPrefix("/"), let name = name(variable.split(separator: "/")[...], rules) {
            return name
        }
        if let name = zone(at: path, rules) { return name }
        guard path == "/etc/localtime", let line = line("/etc/timezone") else { return nil }
        return name(line.split(separator: "/")[...], rules)
    }

    private func file(of zone: Substring) -> String {
        zone.hasPrefix("/") ? String(zone) : "\(environment("TZDIR") ?? "/usr/share/zoneinfo")/\(zone)"
    }

    /// Whether a file has the form of RFC 9636. It ends with a line of text, which one that was cut doesn't have.
    private func isWhole(_ rules: [UInt8]) -> Bool {
        rules.starts(with: "TZif".utf8) && rules.last == 0x0A
            && rules.dropLast().reversed().prefix { $0 != 0x0A }.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// The name that the path of a zone's file has, or the path that it links to.
    private func zone(at path: String, _ rules: [UInt8], links: Int = 8) -> String? {
        let parts = path.split(separator: "/")
        if let root = parts.lastIndex(of: "zoneinfo"), let name = name(parts[(root + 1)...], rules) { return name }
        return links > 0 && path.hasPrefix("/") ? link(path).flatMap { zone(at: $0, rules, links: links - 1) } : nil
    }

    /// The name in the time zone database, which begins with a capital letter. `Factory` stands for an unknown zone, and
    /// `posix` and `right` are directories with the same zones, without and with leap seconds. Nil if the zone of that name has
    /// other rules than the ones in force.
    private func name(_ parts: ArraySlice<Substring>, _ rules: [UInt8]) -> String? {
        let isPath = parts.contains(".") || parts.contains("..")
        guard !isPath, contents(file(of: parts.joined(separator: "/")[...])) == rules else { return nil }
        let parts = parts.first == "posix" || parts.first == "right" ? parts.dropFirst() : parts
        guard parts.first?.first?.isUppercase == true, parts.first != "Factory" else { return nil }
        return parts.joined(separator: "/")
    }
}
