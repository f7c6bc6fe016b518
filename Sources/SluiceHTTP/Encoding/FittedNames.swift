import Sluice

/// Names for backends that don't accept every name. Two names never become one, and a name is the same in each request.
extension String {
    /// Returns the name with `prefix` in front if it is taken, or if it is a taken name with such prefixes. All others stay.
    package func prefixed(by prefix: String, if isTaken: (Substring.UnicodeScalarView) -> Bool) -> String {
        var base = unicodeScalars[...]
        while base.starts(with: prefix.unicodeScalars) { base = base.dropFirst(prefix.unicodeScalars.count) }
        return isTaken(base) ? prefix + self : self
    }

    /// Returns the name with `_` for characters that the backend doesn't accept, and cut to `length` UTF-16 code units. A
    /// changed name ends with a mark, a hash of all of its characters: see `isMarked`. So does a name that ends like a mark,
    /// because it could be another name with its mark.
    // By scalars, because later versions of Unicode combine them to characters in other ways.
    package func fitted(to length: Int = .max, where isAccepted: (Unicode.Scalar) -> Bool) -> String {
        if utf16.count <= length, unicodeScalars.allSatisfy(isAccepted), !isMarked { return self }
        var hash = FNV1a(utf8).value
        let mark = (0..<3).reduce("_") { mark, _ in
            defer { hash /= 260 }
            return mark + String(hash % 10) + String(10 + hash / 10 % 26, radix: 36)
        }
        var rest = length - mark.count
        let plain = unicodeScalars.map { isAccepted($0) ? $0 : "_" }
        let kept = plain.prefix { scalar in
            rest -= UTF16.width(scalar)
            return rest >= 0
        }
        return String(String.UnicodeScalarView(kept)) + mark
    }

    /// Whether the name ends with `_` and three times a digit and a small letter, as in `_4k7q2m`. People write hardly any
    /// such names, unlike `_level1` and `_sha256`.
    private var isMarked: Bool {
        let mark = utf8.suffix(7)
        return mark.count == 7 && mark.first == UInt8(ascii: "_")
            && zip(mark.dropFirst(), 0...).allSatisfy { $1 % 2 == 0 ? $0.isDigit : (0x61...0x7A).contains($0) }
    }
}

extension Property {
    /// Returns a name for the object that has the format's own names and the other properties. One of the format's names
    /// gets the prefix `properties.`, because an object must not contain a name twice.
    package func outerName(beside names: Set<String>) -> String {
        name.prefixed(by: "properties.") { names.contains(String($0)) }
    }
}
