/// Names of secrets, by the words in them: `token` is in `resetToken`, `session_token`, `TOKEN[]` and `accesstoken`.
///
/// The case of letters and the separators between them don't count. A word of up to four letters counts only as a word of
/// its own, also in the plural, or beside one of the words that it is written together with: `pin` is in `card_pins`,
/// `cardPIN` and `pincode`, but not in `shipping`. So does a word that is written as several ones: `password` is in
/// `new_pass_word`, but not in `compass_word`. The words that no English word contains, such as `pwd`, count anywhere.
package struct SecretNames: Sendable {
    /// The words for secrets that people type: their values can be numbers.
    package static let codes: Set<String> = [
        "accesscode", "authcode", "cvc", "cvv", "mfa", "otp", "passcode", "passphrase", "passwd", "password", "pin",
        "pwd", "recoverycode", "securitycode", "tokencode", "totp", "verificationcode",
    ]

    /// The words that mark a name as one of a secret, whatever the name is used for.
    package static let words = codes.union([
        "accesskey", "apikey", "auth", "authentication", "authorization", "bearer", "connectionstring", "credential",
        "creds", "csrf", "encryptionkey", "jwt", "oauth", "passkey", "privatekey", "privkey",
        "secret", "sessionkey", "signature", "signingkey", "sshkey", "token", "xsrf",
    ])

    /// The words that a short word is written together with.
    private static let companions = [
        "access", "account", "admin", "api", "app", "auth", "bank", "basic", "card", "client", "code", "db", "email",
        "hash", "header", "key", "login", "my", "new", "number", "old", "pass", "phone", "proxy", "root", "sms", "user",
        "value", "wallet",
    ].map { Array($0.utf8) }

    /// The short words that no English word contains.
    private static let distinctive = ["csrf", "cvv", "jwt", "pwd", "xsrf"].map { Array($0.utf8) }

    private let words: [[UInt8]]
    /// The last six bits of the first bytes of ``words``.
    private let firstBits: UInt64
    /// The words beyond ASCII.
    private let others: [[Character]]

    package init(_ words: some Sequence<String>) {
        let letters = words.map(\.letters).filter { !$0.isEmpty }
        self.words = letters.filter(\.isASCII).map { Array($0.utf8) }
        firstBits = self.words.reduce(0) { $0 | 1 << UInt64($1[0] & 63) }
        others = letters.filter { !$0.isASCII }.map(Array.init)
    }

    package func contains(_ name: String) -> Bool {
        if containsWord(name) { return true }
        if name.isASCII { return false }
        // A letter or a separator beyond ASCII may stand for a plain one.
        let plain = name.visible.map { $0.isASCII ? "\($0)" : $0.isLetter || $0.isNumber ? "\($0)".caseFolded : "_" }
        if containsWord(plain.joined()) { return true }
        let characters = Array(name.letters)
        return others.contains { word in characters.indices.contains { characters[$0...].starts(with: word) } }
    }

    private func containsWord(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { name in
            name.indices.contains { start in
                name[start].isWordByte && firstBits & 1 << UInt64((name[start] | 0x20) & 63) != 0
                    && words.contains { begins($0, in: name, at: start) }
            }
        }
    }

    private func begins(_ word: [UInt8], in name: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        var end = start
        // Parts of words that only meet, as in `photo_author`, are not the secret one.
        var isJoined = false
        for letter in word {
            while end < name.count, !name[end].isWordByte { end += 1 }
            guard end < name.count, name[end] | 0x20 == letter else { return false }
            if end > start, !name[end - 1].isWordByte || name[end - 1].isLower && name[end].isUpper { isJoined = true }
            end += 1
        }
        return !isJoined && (word.count > 4 || SecretNames.distinctive.contains(word))
            || begins(name, at: start) && ends(name, at: end)
    }

    /// Whether a word or a companion before it begins here.
    private func begins(_ name: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
        name.isBetweenWords(start)
            || SecretNames.companions.contains { word in
                start >= word.count && name.has(word, at: start - word.count) && name.isBetweenWords(start - word.count)
            }
    }

    /// Whether a word, its plural or a companion after it ends here.
    private func ends(_ name: UnsafeBufferPointer<UInt8>, at end: Int) -> Bool {
        name.isBetweenWords(end) || name.has([UInt8(ascii: "s")], at: end) && name.isBetweenWords(end + 1)
            || SecretNames.companions.contains { name.has($0, at: end) && name.isBetweenWords(end + $0.count) }
    }
}

extension String {
    /// The text regardless of width, without invisible characters.
    fileprivate var visible: String {
        let visible = unicodeScalars.lazy.filter { !$0.properties.isDefaultIgnorableCodePoint }.map(\.narrow)
        return String(String.UnicodeScalarView(visible))
    }

    /// The letters and digits, regardless of case and width, without invisible characters.
    fileprivate var letters: String { visible.caseFolded.filter { $0.isLetter || $0.isNumber } }
}

extension UInt8 {
    fileprivate var isUpper: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    fileprivate var isLower: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    fileprivate var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    /// A letter, a digit, or a part of a character beyond ASCII.
    fileprivate var isWordByte: Bool { isUpper || isLower || isDigit || self >= 0x80 }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether these letters are at a position, in any case.
    fileprivate func has(_ word: [UInt8], at start: Int) -> Bool {
        start + word.count <= count && word.indices.allSatisfy { self[start + $0] | 0x20 == word[$0] }
    }

    /// Whether no word goes on at a position: `card|Pin`, `card|PIN`, `PIN|Code`, `pin|2`, `card_|pin`.
    fileprivate func isBetweenWords(_ position: Int) -> Bool {
        guard position > 0, position < count else { return true }
        let (before, after) = (self[position - 1], self[position])
        if after.isLower { return !before.isLower && !before.isUpper }
        guard after.isUpper else { return true }
        return !before.isUpper || position + 1 < count && self[position + 1].isLower
    }
}
