import SluiceTesting
import TestSupport
import Testing

@testable import SluiceAutoProperties

@Suite("Links and push messages")
struct LinksTests {
    /// The event of one opening.
    private func opened(_ url: String, referrer: String? = nil, _ properties: PropertyLiteral = [:]) async throws
        -> Event
    {
        let links = Links()
        let test = try TestPipeline { links }
        links.opened(url, referrer: referrer, properties)
        return try await test.event()
    }

    // MARK: Events

    @Test("a link is tracked with its URL, its referrer and its campaign")
    func linkIsTracked() async throws {
        let url =
            "https://shop.example/sale?utm_source=news&utm_medium=email&utm_campaign=spring&utm_term=t&utm_content=c&gclid=G&page=2"
        let event = try await opened(url, referrer: "https://mail.example/", ["mine": 1])
        #expect(event.name == "$DeepLinkOpened")
        let own: Properties = [
            "mine": 1, "$gclid": "G", "$utm_campaign": "spring", "$utm_content": "c", "$utm_medium": "email",
            "$utm_source": "news", "$utm_term": "t", "$referrer": "https://mail.example/", "$url": .string(url),
        ]
        for property in own { #expect(event.properties[property.name] == property.value, "\(property.name)") }
        #expect(event.properties.count == own.count + 14)
        #expect(event.properties["$first_utm_source"] == "news" && event.properties["$latest_gclid"] == "G")
    }

    @Test("the host's own properties take precedence")
    func ownPropertiesTakePrecedence() async throws {
        let event = try await opened("https://a.example/?utm_source=x", ["$url": "mine", "$utm_source": "me"])
        #expect(event.properties["$url"] == "mine" && event.properties["$utm_source"] == "me")
    }

    @Test("the first campaign stays, and the last one is replaced as a whole")
    func firstStaysAndLastIsReplaced() async throws {
        let links = Links()
        let test = try TestPipeline { links }
        test.pipeline.track("Before")
        links.opened("https://a.example/?utm_source=one&utm_term=shoes", referrer: "https://r.example")
        links.opened("https://a.example/plain")
        test.pipeline.track("Between")
        links.opened("shop://x?fbclid=F")
        test.pipeline.track("After")
        let events = await test.events()
        let first: Properties = [
            "$first_utm_source": "one", "$first_utm_term": "shoes", "$first_referrer": "https://r.example",
        ]
        #expect(events[0].properties.isEmpty)
        #expect(
            events[3].properties
                == first + [
                    "$latest_utm_source": "one", "$latest_utm_term": "shoes", "$latest_referrer": "https://r.example",
                ])
        #expect(events[5].properties == first + ["$latest_fbclid": "F"])
        #expect(links.campaigns == events[5].properties)
    }

    @Test("a push message has a campaign, its own or that of its link")
    func pushIsTracked() async throws {
        let links = Links()
        let test = try TestPipeline { links }
        links.pushOpened()
        #expect(links.campaigns.isEmpty)
        links.pushOpened("spring", ["id": 7])
        links.pushOpened("b", source: "news", url: "shop://sale?utm_campaign=c&utm_medium=m&utm_term=t&token=x")
        links.pushOpened(url: "shop://sale?utm_campaign=c")
        // Blank arguments are none.
        links.pushOpened("", source: " ")
        links.pushOpened("", source: "", url: "shop://sale?utm_campaign=d&utm_source=s&utm_medium=m")
        let events = await test.events()
        #expect(events.map(\.name) == Array(repeating: "$PushOpened", count: 6))
        let utm = events.map { event in
            ["campaign", "source", "medium", "term"].map { event.properties["$utm_\($0)"]?.string }
        }
        #expect(
            utm == [
                [nil, nil, nil, nil], ["spring", "push", "push", nil], ["b", "news", "m", "t"],
                ["c", "push", "push", nil], [nil, nil, nil, nil], ["d", "s", "m", nil],
            ])
        #expect(events[4].properties["$latest_utm_campaign"] == "c")
        #expect(events[1].properties["id"] == 7)
        #expect(events[2].properties["$url"]?.string?.hasSuffix("&token=[redacted]") == true)
        #expect(links.campaigns["$first_utm_campaign"] == "spring")
    }

    @Test("reset forgets both campaigns")
    func resetForgets() async throws {
        let directory = TemporaryDirectory()
        let links = Links(persistedIn: .file(directory.path))
        links.opened("https://a.example/?utm_source=one")
        links.reset()
        #expect(links.campaigns.isEmpty)
        links.opened("https://a.example/?utm_source=two")
        #expect(Links(persistedIn: .file(directory.path)).campaigns["$first_utm_source"] == "two")
    }

    // MARK: Across launches

    @Test("both campaigns are on disk when the method returns")
    func campaignsAreKept() throws {
        let directory = TemporaryDirectory()
        let first = Links(persistedIn: .file(directory.path))
        first.opened("https://a.example/?utm_source=one")
        first.opened("https://a.example/?utm_source=two")
        let next = Links(persistedIn: .file(directory.path))
        #expect(next.campaigns == ["$first_utm_source": "one", "$latest_utm_source": "two"])
        next.opened("https://a.example/?utm_source=three")
        let third = Links(persistedIn: .file(directory.path))
        #expect(third.campaigns == ["$first_utm_source": "one", "$latest_utm_source": "three"])
    }

    @Test(
        "after damage the first campaign is unknown, and no later one is called the first",
        arguments: [
            "", "{", #"{"links":{"first":1},"checksum":"0"}"#,
        ])
    func damageMakesFirstUnknown(text: String) throws {
        let directory = TemporaryDirectory()
        try directory.write(Array(text.utf8), to: "links.json")
        let links = Links(persistedIn: .file(directory.path))
        links.opened("https://a.example/?utm_source=two")
        #expect(links.campaigns == ["$latest_utm_source": "two"])
        #expect(try directory.read("links.json.corrupt") == Array(text.utf8))
        #expect(Links(persistedIn: .file(directory.path)).campaigns == ["$latest_utm_source": "two"])
    }

    @Test("a state that can be read again later keeps its first campaign")
    func unreadableStateIsKept() throws {
        let place = MemoryPlace()
        Links(persistedIn: place.persistence).opened("https://a.example/?utm_source=one")
        let stored = place.items
        place.fail(at: .read)
        let links = Links(persistedIn: place.persistence)
        links.opened("https://a.example/?utm_source=two")
        #expect(place.items == stored)
        place.fail()
        links.opened("https://a.example/?utm_source=three")
        #expect(links.campaigns == ["$first_utm_source": "one", "$latest_utm_source": "three"])
        #expect(place.items != stored)
    }

    // MARK: Reading URLs

    @Test(
        "repairs are counted: repeated parameters, incomplete escapes, bytes that are not UTF-8, and secrets in a value",
        arguments: [
            ("utm_source=x&utm_source=y", "x", true), ("utm_source=%", "%", true), ("utm_source=%4", "%4", true),
            ("utm_source=%zz", "%zz", true), ("utm_source=%FF", "\u{FFFD}", true), ("utm_source=%C3", "\u{FFFD}", true),
            ("utm_source=%C3%A9", "é", false), ("utm_source=x&other=%FF&other=1&other=2", "x", false),
            ("utm_source=email:weekly&utm_campaign=spring", "email:weekly", false),
            ("utm_source=promo_code:SPRING26", "promo_code:SPRING26", false),
            ("utm_source=ship+to+Kenya:+spring", "ship to Kenya: spring", false),
            ("utm_source=zip+code:+10115", "zip code: 10115", false),
            ("utm_source=token:S3CRET", "[redacted]", true), ("utm_source=code%3DS3CRET&x=1", "[redacted]", true),
            ("utm_source=https://u:S3CRET@h/", "[redacted]", true),
            ("utm_source=token:S3CRET&utm_source=x", "[redacted]", true),
        ])
    func repairsAreCounted(query: String, source: String, isRepaired: Bool) async throws {
        let links = Links()
        let test = try TestPipeline { links }
        links.opened("https://a.example/?\(query)")
        #expect(links.campaigns["$first_utm_source"] == .string(source))
        #expect(test.pipeline.ledger.sanitized == (isRepaired ? [.repairedLink: 1] : [:]))
        _ = await test.events()
    }

    @Test(
        "users, passwords and secrets in any part of a URL, or in another parameter's value, are not in the event",
        arguments: [
            ("https://user:pass@a.example/x?y=1", "https://a.example/x?y=1"),
            ("https://user@a.example", "https://a.example"), ("https://a@b:c@a.example/", "https://a.example/"),
            ("https://u:p@[::1]:80/p", "https://[::1]:80/p"), ("//u:p@a.example/x", "//a.example/x"),
            ("https://a.example/u@v", "https://a.example/u@v"),
            ("https://a.example/?m=a@b", "https://a.example/?m=a@b"),
            ("https://a.example/?token=s3cr3t&x=1", "https://a.example/?token=[redacted]&x=1"),
            ("https://a.example/cb#access_token=s3cr3t&x=1", "https://a.example/cb#access_token=[redacted]&x=1"),
            ("https://a.example/?tokens=x&token", "https://a.example/?tokens=[redacted]&token"),
            ("https://user:s3cr3t\\@a.example/", "https://a.example/"),
            ("https://h/p;token=S3CRET?x=1", "https://h/p;token=[redacted]?x=1"),
            ("https://h/p;jsessionid=S3CRET/q;v=2", "https://h/p;jsessionid=[redacted]/q;v=2"),
            ("https://h/token=S3CRET/next", "https://h/token=[redacted]/next"),
            ("https://h/?a=1;token=S3CRET&b=2", "https://h/?a=[redacted]&b=2"),
            ("https://h/?next=/cb?token=S3CRET&b=2", "https://h/?next=[redacted]&b=2"),
            ("https://h/?next=%2Fcb%3Ftoken%3DS3CRET&b=2", "https://h/?next=[redacted]&b=2"),
            ("https://h/?token%3DS3CRET&b=2", "https://h/?[redacted]&b=2"),
            ("https://h/go/https%3A%2F%2Fother%2F%3Ftoken%3DS3CRET/x", "https://h/go/[redacted]/x"),
            ("https://h/?token:S3CRET", "https://h/?[redacted]"),
            ("https://h/?token\u{3000}\u{FF1D}S3CRET&b=2", "https://h/?[redacted]&b=2"),
            ("https:user:S3CRET@host/", "https:host/"), ("https:/user:S3CRET@host/", "https:/host/"),
            ("//user:S3CRET@host/a", "//host/a"),
            ("https://cors.example/https://user:S3CRET@a.example/v1", "https://cors.example/https://a.example/v1"),
            ("https://cors.example/https:/user:S3CRET@a.example/v1", "https://cors.example/https:/a.example/v1"),
            ("https://u:S3CRET@h/https://u@h2/http://u:S3CRET@h3", "https://h/https://h2/http://h3"),
            ("https://h/r;u=https://u:S3CRET@h2/x", "https://h/r;u=https://h2/x"),
            ("https://h/r;u=https://u:S3;C=RET@h2/x", "https://h/r;u=https://h2/x"),
            ("view-source:https://u:S3CRET@h/", "view-source:https://h/"),
            ("blob:https://u:S3CRET@h/1", "blob:https://h/1"),
            ("jdbc:postgresql://u:S3CRET@db/x", "jdbc:postgresql://db/x"),
            ("https://h/?https://u:S3CRET@h2/?a=b", "https://h/?[redacted]"),
            ("https://h/?https://u:S3C=RET@h2/", "https://h/?[redacted]"),
        ])
    func secretsAreRedacted(url: String, text: String) async throws {
        let event = try await opened(url, referrer: url)
        #expect(event.properties["$url"] == .string(text))
        #expect(event.properties["$referrer"] == .string(text))
    }

    @Test(
        "a value that has a secret in it is replaced as a whole",
        arguments: [
            "https://a.example/?TOKEN=s3cr3t", "https://a.example/?%74oken=s3cr3t",
            "https://a.example/?token=s3%26cr3t=x", "https://a.example/#/reset?token=s3cr3t",
            "shop://login?code=s3cr3t", "https://h/?next=%252Fcb%253Fa%253D1%2526token%253DS3CRET",
            "https://h/?u=https%3A%2F%2Fuser%3AS3CRET%40other%2F", "https://h/?u=https://user:S3CRET@other/",
            "https://h/?filter={\"token\":\"S3CRET\"}", "https://h/?f=%7B%27access_token%27%3A%27S3CRET%27%7D",
            "https://h/#next=%2Fcb%3Fcode%3DS3CRET", "https://h/#/a?x=1;token=S3CRET", "https://h/?a=x,token=S3CRET",
            "https://h/?a=x token=S3CRET", "shop:open?next=shop%3Alogin%3Fotp%3DS3CRET",
            "mailto:a@b.example?body=token%3DS3CRET", "https://h/?filter=password:S3CRET",
            "https://h/?q={token:S3CRET}", "https://h/?x=token%3AS3CRET", "https://h/?x=token+%3A+S3CRET",
            "https://h/?headers=Authorization:%20Bearer%20S3CRET", "https://h/?x=[\"token\",\"S3CRET\"]",
            "https://h/?q=token%09%3D%09S3CRET", "https://h/?q=token%0A%3DS3CRET",
            "https://h/?q=token%0D%0A%3A%20S3CRET", "https://h/?q=%7B%22token%22%0A:%20%22S3CRET%22%7D",
            "https://h/?q={\"token\"\t: \"S3CRET\"}", "https://h/?q=[\"token\" ,\"S3CRET\"]",
            "https://h/?q=['token'%C2%A0%0A,'S3CRET']", "app://open?data=%7B%22password%20hash%22%3A%22S3CRET%22%7D",
            "https://h/?data=token%20value%3DS3CRET", "https://h/?next=%2F%3Fconnection%2520string=S3CRET",
            "https://h/?q={\"Client Secret (new)\": \"S3CRET\"}", "https://h/?q=[\"my pin 2\",\"S3CRET\"]",
            "https://h/?q=token%0Apage%3DS3CRET", "https://h/?q=pin\u{FF1A}S3CRET",
            "https://h/?q=token%0B%E2%80%A8%3A%0CS3CRET", "https://h/?u=https://alice+ci:S3CRET@git.example/",
            "https://h/?u=https:/u:S3CRET@h2/", "https://h/?u=https:u:S3CRET@h2/",
            "https://h/?u=+https%3Au%3AS3CRET%40h2/", "https://h/?u=https:%5C%5Cu:S3CRET@h2/",
            "https://h/?x={\"u\":\"https:\\/\\/u:S3CRET@h2\"}", "https://h/?u=https://u:S3%2FCRET@h2/",
            "https://h/?x=%7B%22to%5Cu006ben%22%3A%22S3CRET%22%7D", "https://h/?x=[\"to\\u006ben\",\"S3CRET\"]",
        ])
    func valuesAreReplaced(url: String) async throws {
        let name = try #require(url.split(separator: "=", maxSplits: 1).first)
        try await secretsAreRedacted(url: url, text: "\(name)=[redacted]")
    }

    @Test(
        "a parameter is secret if its name contains a secret word, in any case and with any separator",
        arguments: [
            "reset_password_token", "accessToken", "oauth_token", "session_token", "token[]", "TOKEN", "user[password]",
            "X-Api-Key", "api.key", "apikey", "client-secret", "clientSecret", "%74o%6ben", "reset%2Dtoken", "to+ken",
            "session%20id", "sessionid", "PHPSESSIONID", "cardPIN", "card_pin", "PINCode", "pin2", "auth", "x-auth",
            "newpwd", "userpwd", "pass", "ftp_pass", "otpcode", "SAMLAssertion", "PHPSESSID", "sas", "blob-sas",
            "authCode", "promo_code", "id_token_hint", "authcode", "AUTHKEY", "pincode", "mypin", "dbpwd", "adminpwd",
            "userauth", "api_sig", "apisig", "accountsid", "totp", "csrf", "X-XSRF", "mfa", "keypass", "passkey",
            "ssh-key", "connection_string", "userPwd2", "user.pwd", "a:pwd", "pwd~1", "(pwd)", "$pwd", "_pwd_",
            "\u{301}pwd", "t\u{200B}oken", "to\u{2010}ken", "to\u{212A}en",
            "\u{FF34}\u{FF2F}\u{FF2B}\u{FF25}\u{FF2E}", "to\u{200D}ken", "%2570assword", "%252570assword",
            "SAMLResponse", "SAMLart", "saml_response",
        ])
    func secretWordsAreFound(name: String) async throws {
        let event = try await opened("https://h/p?\(name)=SECRET&page=2")
        #expect(event.properties["$url"] == .string("https://h/p?\(name)=[redacted]&page=2"))
    }

    @Test(
        "a value without a secret stays as it is, and one whose name has a short word within another one",
        arguments: [
            "https://h/a=b/c;v=1;w=2?q=x;y=1&z=/p?page=2#top=1", "https://h/?u=https%3A%2F%2Fother%2F%3Fpage%3D2",
            "https://h/?u=https://other/@user", "https://h/?t=10:30&m=a@b.example", "https://h/?q=token",
            "https://h/token/x", "https://h/?q=%7B%22page%22%3A1%7D", "https://h/?a=%25252525&b=%",
            "https://h/?q=a%3Db%3Dc", "https://h//a//b", "https://h/?q=what+is+a+token%3F", "shop:product/7",
            "https://h/?a==&=b&&;#;=/", "https://h/?q=page%0Atoken", "https://h/?q=[\"token\" x,2]",
            "https://h/?q=a+page%09x%EF%BC%9A2+token", "https://h/?q=page:2;+token",
            "https://h/?q=error%20code:%20404", "https://h/?q=state:Texas", "https://h/?q=The%20key:%20love",
            "https://h/?q={\"page\":1,\"contact\":\"a@b.example\"}", "https://h/a:b@c/x",
        ]
            + [
                "shipping", "author", "keyword", "design", "inside", "decode", "opinion", "page", "utm_source", "q",
                "passenger", "disaster", "monkey", "hockey", "turkey", "barcodes", "residence", "spinner", "happiness",
                "adopt", "cryptocurrency", "authenticity", "codesign", "keynote",
                "photo_author", "videoAuthor", "reply_to_author", "co_author", "ship_to_kenya", "flights_to_kent",
                "sec_retry", "docs_rfc", "app_wdt", "bypass_keyboard", "access_keyboard", "compass_word",
                "photo\u{2010}author", "videoAuthor\u{E9}", "ship_to_k\u{E9}nya_to_kenya",
            ].map { "https://h/p?\($0)=open" })
    func harmlessValuesAreKept(url: String) async throws {
        #expect(try await opened(url).properties["$url"] == .string(url))
    }

    @Test("a word that is hardly meant is an error", arguments: ["", " ", "\t", "token\n", "\u{200B}invitation"])
    func flawedWords(word: String) {
        let error = #expect(throws: SluiceError.self) { try Links(redacting: ["invitation", word]).prepare() }
        #expect(error?.code == .invalidArgument && error?.reason.contains("redacting") == true)
    }

    @Test("a word of the host's own is found within a name too, in both spellings of a letter")
    func hostsWordsAreFound() async throws {
        let links = Links(redacting: ["Invitation", "cl\u{E9}", "Stra\u{DF}e", "\u{3C6}\u{3C9}\u{3C2}", "\u{FB03}x"])
        let test = try TestPipeline { links }
        let more = ["STRASSE", "stra\u{1E9E}e", "\u{3A6}\u{3A9}\u{3A3}", "FFIX"]
        func link(_ secret: (Int) -> String) -> String {
            "https://h/?invitationCode=\(secret(1))&my_cle\u{301}=\(secret(2))&token=3&cle=4&"
                + more.map { "\($0)=\(secret(5))" }.joined(separator: "&")
        }
        links.opened(link { "\($0)" })
        #expect(try await test.event().properties["$url"]?.string == link { _ in "[redacted]" })
    }

    @Test("the host can choose the secret names, and none")
    func hostChoosesSecretNames() async throws {
        let links = Links(redacting: ["Ticket", "utm_source"])
        let test = try TestPipeline { links }
        links.opened("https://a.example/?ticket=1&token=2&utm_source=3")
        let event = try await test.event()
        #expect(event.properties == ["$url": "https://a.example/?ticket=[redacted]&token=2&utm_source=[redacted]"])
        #expect(
            LinkAddress("https://a.example/?token=2", secrets: SecretNames([])).text == "https://a.example/?token=2")
    }

    // MARK: Limits

    @Test("a URL of a megabyte with 10,000 campaign parameters is bounded, and counted")
    func hugeURLIsBounded() async throws {
        let links = Links()
        let test = try TestPipeline { links }
        let parameters = (0..<10_000).map { "utm_source=\($0)&utm_term=\(String(repeating: "x", count: 85))" }
        links.opened(
            "https://a.example/?" + parameters.joined(separator: "&"), referrer: String(repeating: "r", count: 1 << 20))
        let event = try await test.event()
        #expect(event.properties["$utm_source"] == "0")
        #expect(event.properties["$url"]?.string?.utf8.count == 8_192)
        #expect(event.properties["$referrer"]?.string?.utf8.count == 8_192)
        #expect(test.pipeline.ledger.sanitized == [.truncatedString: 1, .repairedLink: 1])
    }

    @Test("values are limited to whole characters")
    func valuesAreLimited() async throws {
        let value = String(repeating: "é", count: 600)
        let event = try await opened("https://a.example/?utm_source=a\(value)")
        #expect(event.properties["$utm_source"] == .string("a" + String(repeating: "é", count: 511)))
        let links = Links()
        let test = try TestPipeline { links }
        links.pushOpened(value)
        #expect(try await test.event().properties["$utm_campaign"]?.string?.utf8.count == 1_024)
        #expect(test.pipeline.ledger.sanitized == [.truncatedString: 1])
    }
}
