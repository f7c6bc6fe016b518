import SluiceFilters
import TestSupport
import Testing

@Suite("Redaction: secrets are replaced")
struct RedactionTests {
    @Test("values under secret keys are replaced, at every depth and in any case")
    func secretKeysAreReplaced() throws {
        let event = try #require(
            Redaction(keys: ["password", "apiKey"]).processed(
                "Login",
                [
                    "password": "hunter2", "PassWord": 7, "passwords": "kept", "user": "bob",
                    "nested": ["list": [["APIKEY": ["a": 1], "n": 1.5]], "password": nil],
                ]))
        #expect(
            event.properties == [
                "password": "[redacted]", "PassWord": "[redacted]", "passwords": "kept", "user": "bob",
                "nested": ["list": [["APIKEY": "[redacted]", "n": 1.5]], "password": "[redacted]"],
            ])
    }

    @Test("patterns are found in names and at every depth too")
    func patternsMatchAtEveryDepth() throws {
        let event = try #require(
            Redaction(patterns: [.email, .phone]).processed(
                "/users/bob@example.org",
                [
                    "bob@example.org": 1, "date": .date(Timestamp(milliseconds: 0)), "flag": true, "none": nil,
                    "nested": ["list": ["555-123-4567", 5], "eve@example.org": "eve@example.org, 555-123-4567"],
                ]))
        #expect(event.name == "/users/[email]")
        #expect(
            event.properties == [
                "[email]": 1, "date": .date(Timestamp(milliseconds: 0)), "flag": true, "none": nil,
                "nested": ["list": ["[phone]", 5], "[email]": "[email], [phone]"],
            ])
    }

    @Test("if names become equal, one property stays")
    func equalNamesKeepOneProperty() throws {
        let event = try #require(
            Redaction(patterns: [.email]).processed(
                "Event", ["a@b.de": 1, "c@d.de": 2, "x": ["a@b.de": 1, "c@d.de": 2]]))
        #expect(event.properties == ["[email]": 2, "x": ["[email]": 2]])
    }

    @Test("the default keys are the names that contain a secret word, in any case and with any separator")
    func defaultKeysAreSecretWords() throws {
        let event = try #require(
            Redaction().processed(
                "Login",
                [
                    "reset_password_token": 1, "accessToken": "a", "API-Key": "b", "PIN": 1234, "author": "kim",
                    "state": "CA", "code": "SPRING", "$session_id": "s", "email": "a@b.example",
                    "nested": ["list": [["clientSecret": ["a": 1], "n": 1]]], "newpwd": "a", "otpCode": 1,
                    "pass": "season",
                ]))
        #expect(
            event.properties == [
                "reset_password_token": "[redacted]", "accessToken": "[redacted]", "API-Key": "[redacted]",
                "PIN": "[redacted]", "author": "kim", "state": "CA", "code": "SPRING", "$session_id": "s",
                "email": "a@b.example", "nested": ["list": [["clientSecret": "[redacted]", "n": 1]]],
                "newpwd": "[redacted]", "otpCode": "[redacted]", "pass": "season",
            ])
        #expect(
            try #require(Redaction(patterns: [.email]).processed("x", ["token": 1])).properties
                == ["token": 1])
    }

    @Test(
        "without keys, a name is secret if it contains a secret word, in any position and with any separator",
        arguments: [
            "password", "PASSWORD", "passWord", "pass-word", "p.a.s.s.w.o.r.d", "user[password]", "user:password:hash",
            "old password", "password1", "__password__", "nopasswordhere", "pass\u{200B}word", "reset/token",
            "tokenValue", "refreshtoken", "Authorization", "x-auth", "authcode", "authKey", "userauth", "AUTH",
            "cardPIN", "pincode", "pin", "new_pwd", "newpwd", "dbpwd", "otpcode", "loginotp", "totp", "mfa_code",
            "cvv2", "CVC", "apikey", "API KEY", "api\u{2011}key", "sshKey", "encryption.key", "signingKey",
            "sessionkey", "private_key", "clientSecret", "securityCode", "verification-code", "recovery code",
            "connectionString", "csrf", "X-XSRF-Header", "jwt", "id_jwt", "confirmpwd", "emailpwd", "PWDconfirm",
            "idjwt", "jwtid", "formcsrf", "xsrfvalue", "mycvv", "authentication", "passkey", "creds", "privkey",
            "authheader", "basicauth", "ProxyAuth", "smsotp", "otpvalue", "walletpin", "pins", "OTPs", "card_PINS",
            "emailotps", "bankpin", "phone-otp",
            "\u{FF50}\u{FF41}\u{FF53}\u{FF53}word", "to\u{FE0F}ken", "pass\u{34F}word",
        ])
    func secretWordsAreFound(name: String) throws {
        for properties: Properties in [[name: "s"], ["outer": .object([name: ["s", 7]])]] {
            let event = try #require(Redaction().processed("Event", properties))
            let inner = event.properties["outer"].flatMap { if case .object(let inner) = $0 { inner } else { nil } }
            #expect((inner ?? event.properties) == [name: "[redacted]"])
        }
    }

    @Test(
        "without keys, usual names are not secret",
        arguments: [
            "$session_id", "author", "authenticity", "shipping", "spin", "opinion", "pinned", "pass", "passenger",
            "compass", "code", "promo_code", "barcode", "key", "keyword", "monkey", "state", "adopt", "option", "email",
            "sign_up", "cryptocurrency", "unauthored", "description", "happiness", "sku", "cvs", "platform", "pinst",
            "spins", "walletpinned", "smspine", "headerauthor",
            "photo_author", "videoAuthor", "reply_to_author", "co_author", "ship_to_kenya", "flights_to_kent",
            "sec_retry", "docs_rfc", "app_wdt", "bypass_keyboard", "access_keyboard", "compass_word",
            "photo\u{2010}author", "videoAuthor\u{E9}", "ship_to_k\u{E9}nya_to_kenya",
        ])
    func usualNamesAreKept(name: String) throws {
        #expect(try #require(Redaction().processed("Event", [name: "s"])).properties == [name: "s"])
    }

    @Test(
        "without keys, a boolean is no secret, and a number only if it is one that people type",
        arguments: [
            ("max_tokens", 4096, false), ("token_count", 3.5, false), ("mfa_enabled", true, false),
            ("mfa_code", 482_913, true), ("authCode", 482_914, true), ("passphrase", 1_234, true),
            ("map_pins", 5, false), ("pins", 12.0, false), ("OTPs", 2, false),
            ("pinRequired", false, false), ("signature-version", 2, false), ("SECRETS", 0, false),
            ("pin", 1_234, true), ("otpCode", 482_910, true), ("card_cvv", 7.0, true), ("PASSWORD", 12_345_678, true),
            ("recovery code", -5, true), ("auth_method", "sms", true),
        ] as [(String, PropertyValue, Bool)])
    func typedNumbersAreSecret(name: String, value: PropertyValue, isSecret: Bool) throws {
        let found = try #require(Redaction().processed("Event", [name: value])).properties
        #expect(found == [name: isSecret ? "[redacted]" : value])
        let own = try #require(Redaction(keys: [name]).processed("Event", [name: value])).properties
        #expect(own == [name: "[redacted]"])
    }

    @Test("16,000 properties are redacted, and keep their order")
    func manyPropertiesAreRedacted() throws {
        let names = (0..<16_000).map { "q\($0)" }
        let properties = Properties(names.map { ($0, .string("a\($0)@example.com")) })
        let event = try #require(Redaction(patterns: [.email]).processed("x", properties))
        #expect(event.properties.map(\.name) == names)
        #expect(event.properties.allSatisfy { $0.value == "[email]" })
    }

    @Test("without keys and patterns nothing is changed")
    func emptyRedactionChangesNothing() throws {
        let properties: Properties = ["password": "a", "mail": "bob@example.org", "card": "4111111111111111"]
        #expect(try #require(Redaction(keys: []).processed("Event", properties)).properties == properties)
    }

    @Test(
        "the ids of people and groups are not changed, whatever the keys, and the ids of things under a key only",
        arguments: [
            ("$alias", "+49 30 1234567"), ("$original_id", "ann@example.org"), ("$id_value", "4111 1111 1111 1111"),
            ("$group_key", "+33 1 23 45 67 89"), ("$identities", ["msisdn": "+49 30 1234567", "oauth_id": "77ann"]),
            ("$groups", ["household": "030 1234567", "b@example.org": "c@example.org", "token": 1]),
            ("$item_id", 4_111_111_111_111_111), ("$product_id", "(555) 123-4567"), ("$group_type", "a@example.org"),
            ("order_id", "4111111111111111"), ("order_id", 5_555_555_555_554_444), ("$id_kind", "555-123-4567"),
        ] as [(String, PropertyValue)])
    func idsAreNotRedacted(name: String, id: PropertyValue) throws {
        let keys = [nil, [], [name, "token", "msisdn"], ["household"]] as [[String]?]
        let isOfThing = ["$item_id", "$product_id", "order_id", "$group_type", "$id_kind"].contains(name)
        for (index, keys) in keys.enumerated() {
            let redaction = Redaction(keys: keys, patterns: [.email, .paymentCard, .phone])
            // In an object, the same name holds no id.
            var event = Event.named("Event", [name: id, "text": "a@example.org", "n": [name: id]])
            (event.loginID, event.anonymousID) = ("bob@example.org", "+49 30 1234567")
            #expect(redaction.process(&event) == .keep)
            #expect(event.properties[name] == (index == 2 && isOfThing ? "[redacted]" : id))
            #expect(event.properties["text"] == "[email]" && event.properties["n"]?.object?[name] != id)
            #expect(event.loginID == "bob@example.org" && event.anonymousID == "+49 30 1234567")
        }
    }

    @Test(
        "a change of a profile keeps its type: a member that would become a text is left out",
        arguments: [
            ("$append", ["pins": ["1234"], "tokens": ["a", "b"], "tags": ["x"]], ["tags": ["x"]]),
            ("$append", ["mails": ["a@example.org", "b"]], ["mails": ["[email]", "b"]]),
            ("$increment", ["otp": 1, "spent": 2.5, "paid": 4_111_111_111_111_111], ["spent": 2.5]),
            ("$increment", ["a@example.org": 1, "PIN": 2.0], ["[email]": 1]), ("$increment", ["cvv": 7], [:]),
            ("$append", ["a": "x", "b": "bob@x.com", "c": ["y"]], ["a": "x", "b": "[email]", "c": ["y"]]),
            ("$append", ["plan": "pro", "pin": ["1"]], ["plan": "pro"]),
            ("$increment", ["n@x.com": "x", "otp": 1, "m": 2], ["[email]": "x", "m": 2]),
            ("$set", ["pin": "1234", "plan": "pro"], ["pin": "[redacted]", "plan": "pro"]),
            ("$set_once", ["otp": 1, "mails": ["a@example.org"]], ["otp": "[redacted]", "mails": ["[email]"]]),
        ] as [(String, PropertyValue, PropertyValue)])
    func changesKeepTheirType(name: String, change: PropertyValue, expected: PropertyValue) throws {
        let event = try #require(Redaction(patterns: [.email, .paymentCard]).processed("$Profile", [name: change]))
        #expect(event.properties == [name: expected])
        #expect(event.reportedSanitizations == [.redacted])
    }

    @Test("an earlier sanitization is still counted once")
    func earlierSanitizationsAreKept() async throws {
        let test = try TestPipeline { Redaction(keys: ["password"], patterns: [.email]) }
        test.pipeline.track("Event", ["a": .double(.nan), "password": 1, "x@y.de": ["z": "x@y.de"]])
        #expect(try await test.event().properties == ["a": nil, "password": "[redacted]", "[email]": ["z": "[email]"]])
        #expect(test.pipeline.ledger.sanitized == [.nonFiniteNumber: 1, .redacted: 1])
    }

    @Test(
        "redaction takes linear time for any text",
        arguments: ["a%40", "a@", "1", "1 ", "(", "1-", "+1", "@.", "0 ", "٠", "4111.", "01.", "1\u{A0}", "\u{202F}"])
    func redactionIsLinear(unit: String) {
        // Read over and over, each of these would take minutes.
        let text = String(repeating: unit, count: 60_000 / unit.utf8.count)
        #expect(Redaction(patterns: [.email, .paymentCard, .phone]).processed(text) != nil)
    }

    @Test("only changed events are counted")
    func changedEventsAreCounted() async throws {
        let test = try TestPipeline { Redaction(keys: ["password"], patterns: [.email]) }
        test.pipeline.track("A", ["password": "x", "mail": "a@example.org"])
        test.pipeline.track("B", ["text": "nothing secret"])
        test.pipeline.track("write to a@example.org")
        #expect(test.pipeline.ledger.sanitized == [.redacted: 2])
        _ = await test.events()
    }
}
