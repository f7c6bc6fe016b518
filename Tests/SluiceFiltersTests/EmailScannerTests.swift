import Sluice
import SluiceFilters
import TestSupport
import Testing

@Suite struct EmailScannerTests {
    @Test(
        "e-mail addresses are replaced",
        arguments: [
            ("bob@example.org", "[email]"),
            ("mail Bob.O'Neil+tag@sub.example.co.uk now", "mail [email] now"),
            ("<bob@example.org>, eve_2@x-y.com.", "<[email]>, [email]."),
            ("/users/bob@example.org/edit?to=eve@example.org&x=1", "/users/[email]/edit?to=[email]&x=1"),
            ("?mail=bob%2Btag%40example.org&x=1", "?mail=[email]&x=1"),
            ("jürgen@müller.de", "[email]"),
            ("用户@例子.公司", "[email]"),
            ("a@b.xn--p1ai", "[email]"),
            (".bob@example.org", ".[email]"),
            ("bob@example.org.7", "[email].7"),
            ("a@b@c.de", "a@[email]"),
            ("😀bob@example.org😀", "[email]"),
            ("user@localhost", nil),
            ("@example.org", nil),
            ("bob@", nil),
            ("@", nil),
            ("bob@example.c", nil),
            ("bob@1.2.3.4", nil),
            ("pkg@1.2.3", nil),
            ("50%40 is no at sign", nil),
            ("meet @ noon.ish", nil),
            ("%4", nil),
            ("", nil),
        ] as [(String, String?)])
    func emailsAreReplaced(text: String, redacted: String?) throws {
        try expectRedaction(.email, text, redacted)
    }
}
