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

    private func clock(_ time: Timestamp) -> String {
        var seconds = time_t(clamping: time.milliseconds / 1_000)
        var local = tm()
        guard localtime_r(&seconds, &local) != nil else { return time.description }
        func padded(_ number: Int, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        let clock = [local.tm_hour, local.tm_min, local.tm_sec].map { padded(Int($0), 2) }.joined(separator: ":")
        return Style.dim("\(clock).\(padded(abs(Int(time.milliseconds % 1_000)), 3))", isColored: isColored)
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
