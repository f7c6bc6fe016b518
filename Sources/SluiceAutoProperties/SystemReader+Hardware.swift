import Sluice

/// Reads the hardware: manufacturer and model from the firmware (DMI, or the device tree), processors, memory and
/// screen.
extension SystemReader {
    var hardwareProperties: Properties {
        let screen = screen
        return Properties(known: [
            "$manufacturer": firmware("/sys/class/dmi/id/sys_vendor"),
            "$model": firmware("/sys/class/dmi/id/product_name") ?? firmware("/proc/device-tree/model"),
            "$cpu_count": processorCount,
            "$memory_size": memorySize,
            "$screen_width": screen?.width,
            "$screen_height": screen?.height,
        ])
    }

    /// Also returns nil for a placeholder that the manufacturer has left in the firmware's template.
    private func firmware(_ path: String) -> String? {
        line(path).flatMap { Self.placeholders.contains($0.lowercased()) ? nil : $0 }
    }

    private static let placeholders: Set<String> = [
        "to be filled by o.e.m.", "default string", "system manufacturer", "system product name", "not specified",
        "not applicable", "none", "o.e.m.", "oem", "unknown", "undefined", "n/a", "x", "all series", "empty",
    ]

    /// The size of the memory in bytes.
    private var memorySize: Int64? {
        let prefix = "MemTotal:"
        guard
            let lines = file("/proc/meminfo")?.parts(by: "\n"),
            let line = lines.first(where: { $0.hasPrefix(prefix) }),
            let kibibytes = line.dropFirst(prefix.count).split(separator: " ").first.flatMap({ Int64($0) })
        else { return nil }
        let (bytes, overflow) = kibibytes.multipliedReportingOverflow(by: 1_024)
        return overflow ? nil : bytes
    }

    /// The size in pixels of the preferred mode of the first connected screen.
    private var screen: (width: Int, height: Int)? {
        let directory = "/sys/class/drm"
        for connector in names(directory).sorted()
        where line("\(directory)/\(connector)/status") == "connected" {
            let numbers = line("\(directory)/\(connector)/modes")?.split(separator: "x").map { Int($0) } ?? []
            if numbers.count == 2, let width = numbers[0], let height = numbers[1] { return (width, height) }
        }
        return nil
    }
}
