import TestSupport
import Testing

@testable import SluiceAutoProperties

/// The properties of the network and the country.
@Suite struct NetworkAndCountryTests {
    private func properties(_ system: SystemReader) throws -> Properties {
        try #require(AutoProperties(system: system).processed()).properties
    }

    private static let header = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    private static let ethernet = "eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    private static let wireless = "wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\n"
    private static let local = "eth0\t0000A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n"
    private static let ipv6 =
        "\(String(repeating: "0", count: 32)) 00 \(String(repeating: "0", count: 32)) 00 "
        + "fe800000000000000000000000000001 00000400 00000001 00000000 00000003 wwan0\n"

    @Test(
        "the network is that of the default route with the lowest metric",
        arguments: [
            (header + ethernet, "", "ethernet"), (header + wireless, "", "wifi"),
            (header + wireless + ethernet, "", "ethernet"), (header + local, "", nil), (header, ipv6, "cellular"),
            ("", "", nil), ("nonsense\n", "nonsense\n", nil),
        ] as [(String, String, String?)])
    func networkOfDefaultRoute(routes: String, ipv6: String, type: String?) throws {
        let files = [
            "/proc/net/route": routes, "/proc/net/ipv6_route": ipv6, "/sys/class/net/eth0/type": "1\n",
            "/sys/class/net/eth0/uevent": "INTERFACE=eth0\n", "/sys/class/net/wlan0/type": "1\n",
            "/sys/class/net/wlan0/uevent": "DEVTYPE=wlan\nINTERFACE=wlan0\n",
            "/sys/class/net/wwan0/uevent": "DEVTYPE=wwan\n",
        ]
        let properties = try properties(SystemReader(contents: { files[$0].map { Array($0.utf8) } }))
        #expect(properties["$network_type"] == type.map { .string($0) })
        #expect(properties["$wifi"] == type.map { .bool($0 == "wifi") })
    }

    @Test("the network is read again when the platform reports connectivity")
    func networkIsReadAgainOnSignal() async throws {
        let type = Locked<String?>("wifi")
        let auto = AutoProperties(system: SystemReader(networkType: { type.withLock { $0 } }))
        let test = try TestPipeline { auto }
        test.pipeline.track("A")
        type.withLock { $0 = "cellular" }
        test.pipeline.track("B")
        test.pipeline.signal(.connectivity(.available))
        test.pipeline.track("C")
        type.withLock { $0 = nil }
        test.pipeline.signal(.connectivity(.unavailable))
        test.pipeline.track("D")
        // Without a network nothing is sent.
        test.pipeline.signal(.connectivity(.available))
        let types = await test.events().map { $0.properties["$network_type"] }
        #expect(types == ["wifi", "wifi", "cellular", nil])
    }

    @Test(
        "the country is that of the locale",
        arguments: [
            ("de_DE.UTF-8", "DE"), ("zh_Hans_CN", "CN"), ("es_419", "419"), ("en-gb", "GB"), ("de", nil), ("C", nil),
            ("en_", nil), ("en_x1", nil),
        ] as [(String, String?)])
    func countryOfLocale(locale: String, country: String?) throws {
        let system = SystemReader(environment: { $0 == "LANG" ? locale : nil })
        #expect(try properties(system)["$country"] == country.map { .string($0) })
    }
}
