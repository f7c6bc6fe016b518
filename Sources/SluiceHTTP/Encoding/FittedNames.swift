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
    /// changed name ends with `_` and a hash of all of its characters.
    // By scalars, because later versions of Unicode combine them to characters in other ways.
    package func fitted(to length: Int = .max, where isAccepted: (Unicode.Scalar) -> Bool) -> String {
        if utf16.count <= length, unicodeScalars.allSatisfy(isAccepted) { return self }
        // Six digits of base 36.
        let digits = String(FNV1a(utf8).value % 2_176_782_336, radix: 36)
        let mark = "_" + String(repeating: "0", count: 6 - digits.count) + digits
        var rest = length - mark.count
        let plain = unicodeScalars.map { isAccepted($0) ? $0 : "_" }
        let kept = plain.prefix { scalar in
            rest -= UTF16.width(scalar)
            return rest >= 0
        }
        return String(String.UnicodeScalarView(kept)) + mark
    }
}

extension Property {
    /// Returns a name for the object that has the format's own names and the other properties. One of the format's names
    /// gets the prefix `properties.`, because an object must not contain a name twice.
    package func outerName(beside names: Set<String>) -> String {
        name.prefixed(by: "properties.") { names.contains(String($0)) }
    }
}
