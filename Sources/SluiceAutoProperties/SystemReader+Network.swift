import Sluice

/// Reads the kind of network that the machine uses at this moment.
extension SystemReader {
    /// The properties of the network at this moment.
    var networkProperties: Properties {
        guard let type = networkType() ?? routedNetworkType else { return [:] }
        return ["$network_type": .string(type), "$wifi": .bool(type == "wifi")]
    }

    /// The kind of the default route's interface.
    private var routedNetworkType: String? {
        guard let interface = defaultInterface else { return nil }
        let directory = "/sys/class/net/\(interface)"
        let device = file("\(directory)/uevent") ?? ""
        if device.contains(text: "DEVTYPE=wlan") { return "wifi" }
        if device.contains(text: "DEVTYPE=wwan") || interface.hasPrefix("ppp") { return "cellular" }
        // ARPHRD_ETHER: every interface that behaves like Ethernet, also in a container.
        return line("\(directory)/type") == "1" ? "ethernet" : nil
    }

    /// The words of each line of a file.
    private func rows(_ path: String) -> [[Substring]] {
        (file(path) ?? "").parts(by: "\n").map { $0.parts(by: " \t") }
    }

    /// The interface of the default route, from `/proc/net/route` or `/proc/net/ipv6_route`. The columns of the first
    /// are the interface, the destination, the gateway, the flags, two counts and the metric. The last column of the
    /// second is the interface.
    private var defaultInterface: String? {
        let routes = rows("/proc/net/route").compactMap { fields in
            guard fields.count > 7, fields[1] == "00000000", fields[7] == "00000000", let metric = Int(fields[6])
            else { return nil as (interface: String, metric: Int)? }
            return (String(fields[0]), metric)
        }
        if let best = routes.min(by: { $0.metric < $1.metric }) { return best.interface }
        let fields = rows("/proc/net/ipv6_route").first { fields in
            fields.count == 10 && fields[0].allSatisfy { $0 == "0" } && fields[1] == "00" && fields[9] != "lo"
        }
        return fields.map { String($0[9]) }
    }
}
