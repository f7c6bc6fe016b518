import SluiceTesting
import Testing

@testable import SluiceAutoProperties

@Suite struct LinkAddressTests {
    @Test(
        "campaigns are read from the queries of URLs of all kinds",
        arguments: [
            ("https://a.example/?utm_source=a%20b+c%2Bd", "a b c+d"),
            ("https://a.example?utm_source=x#utm_source=y", "x"), ("https://a.example/#/route?utm_source=x", nil),
            ("https://a.example/?utm_source=&utm_source=x", "x"), ("https://a.example/?utm_source=x&utm_source=y", "x"),
            ("https://[2001:db8::1]:8080/?utm_source=x", "x"), ("http://[::1?utm_source=x", "x"),
            ("mailto:a@b.example?utm_source=x", "x"), ("shop:product/7?utm_source=x", "x"), ("?utm_source=x", "x"),
            ("utm_source=x", nil), ("https://a.example/?a=1?utm_source=x", nil),
            ("https://a.example/?utm%5Fsource=x", "x"), ("https://a.example/?UTM_SOURCE=x", nil),
            ("https://a.example/?utm_source=%E2%82%AC", "€"), ("https://a.example/?utm_source=日本", "日本"),
            ("https://a.example/?utm_source", nil), ("https://a.example/?utm_source=a=b", "a=b"), ("", nil), ("?", nil),
            ("#", nil), ("://", nil), ("//", nil), ("https://", nil), ("https://a.example/?&&=&=x&utm_source=x&", "x"),
            ("https://a.example/?utm_source=a%00b", "a\0b"),
        ] as [(String, String?)])
    func campaignIsRead(url: String, source: String?) {
        #expect(LinkAddress(url, secrets: SecretNames([])).campaign["utm_source"] == source)
    }

    @Test("a URL is truncated between characters, and its last parameter isn't read")
    func truncationIsBetweenCharacters() {
        for shift in 0..<4 {
            let start = "https://a.example/?" + String(repeating: "x", count: shift) + "&utm_source="
            let address = LinkAddress(start + String(repeating: "😀", count: 3_000), secrets: SecretNames([]))
            #expect(address.isTruncated && address.campaign.isEmpty)
            #expect((8_189...8_192).contains(address.text.utf8.count))
            #expect(!address.text.contains("\u{FFFD}"))
        }
    }

    @Test("a password that is longer than the limit is not in the event")
    func longPasswordIsRemoved() {
        let address = LinkAddress(
            "https://user:" + String(repeating: "p", count: 9_000) + "@a.example/", secrets: SecretNames([]))
        #expect(address.text == "https://")
        let path = LinkAddress("https://a.example/" + String(repeating: "p", count: 9_000), secrets: SecretNames([]))
        #expect(path.text.hasPrefix("https://a.example/ppp"))
        for start in ["https://a.example/", "https://a.example/?u="] {
            let link = start + "https://user:" + String(repeating: "p", count: 9_000)
            #expect(!LinkAddress(link, secrets: SecretNames([])).text.contains("ppp"))
        }
    }

    @Test("no text crashes it, and every result is bounded")
    func randomTextsAreBounded() {
        var random = SeededRandom(seed: 1)
        let pieces = [
            "%", "%F", "%ff", "&", "=", "?", "#", "/", "//", ":", "@", "[", "]", "+", "utm_source", "token", "\0", "é",
            "😀", "\\", "utm_source=", "https://", "mailto:", " ", "\r\n",
        ]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0...30, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            .joined()
            let address = LinkAddress(text, secrets: SecretNames(["token"]))
            #expect(address.text.utf8.count <= text.utf8.count + 10 * text.count)
            #expect(address.campaign.keys.allSatisfy { $0 == "utm_source" })
        }
    }
}
