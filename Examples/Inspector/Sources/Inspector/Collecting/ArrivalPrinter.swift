import Foundation
import Sluice
import StoreFiles

/// Prints each arrived event and each refused request as one line.
struct ArrivalPrinter: Sendable {
    let isColored: Bool

    private static let longestValue = 60

    /// The local time, the name, the user, the properties that the host has set, and the number of the automatic ones.
    func text(of event: Event, isRepeated: Bool) -> String {
        let own = event.properties.filter { !$0.name.hasPrefix("$") }
        var parts = [clock(event.time), Style.name(Terminal.printable(event.name), isColored: isColored)]
        if isRepeated { parts.append(Style.dim("again", isColored: isColored)) }
        if event.priority == .critical { parts.append(Style.critical("critical", isColored: isColored)) }
        if let user = event.distinctID ?? event.loginID ?? event.anonymousID {
            parts.append(Terminal.printable(Terminal.beginning(of: user, characters: 40)))
        }
        parts += own.map { pair($0) }
        let automatic = event.properties.count - own.count
        if automatic > 0 { parts.append(Style.dim("+\(automatic) automatic", isColored: isColored)) }
        return parts.joined(separator: " ") + "\n"
    }

    func text(of refusal: Receiver.Refusal) -> String {
        let status = refusal.status.map { "refused \($0)" } ?? "no response"
        let names = refusal.events == 0 ? "" : " (\(refusal.names))"
        let parts = [
            clock(refusal.time), Style.critical(status, isColored: isColored),
            Terminal.printable(refusal.reason + names),
        ]
        return parts.joined(separator: " ") + "\n"
    }

    /// The local time, with the day if it isn't today: events can wait for days before they arrive.
    private func clock(_ time: Timestamp) -> String {
        var (seconds, now) = (time_t(clamping: time.milliseconds / 1_000), Foundation.time(nil))
        var (local, today) = (tm(), tm())
        guard localtime_r(&seconds, &local) != nil, localtime_r(&now, &today) != nil else { return time.description }
        let isToday = (local.tm_year, local.tm_yday) == (today.tm_year, today.tm_yday)
        let text = String(unsafeUninitializedCapacity: 64) { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                strftime($0.baseAddress, $0.count, isToday ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &local)
            }
        }
        let milliseconds = String(1_000 + time.milliseconds.magnitude % 1_000).suffix(3)
        return Style.dim("\(text).\(milliseconds)", isColored: isColored)
    }

    private func pair(_ property: Property) -> String {
        let text = Terminal.beginning(of: property.value.text, characters: ArrivalPrinter.longestValue)
        return Style.dim(Terminal.printable(property.name) + "=", isColored: isColored) + Terminal.printable(text)
    }
}

extension PropertyValue {
    /// The value as JSON, a date as its text.
    var text: String {
        if case .date(let date) = self { return date.description }
        var writer = JSONWriter()
        writer.value(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
