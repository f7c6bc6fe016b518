/// Upper bounds for a list of properties, known without a pass over them. Removals don't lower them.
struct PropertyBounds: Sendable {
    /// The levels of arrays and objects, including the list.
    var depth: UInt8 = 1
    var sanitizations: Sanitizations = []
    /// ASCII names are equal only if their bytes are. Other names can be equal in several Unicode spellings.
    var hasOnlyASCIINames = true
    /// The union of ``NameFingerprint/bit``, which shows for most lists that they have no name in common.
    var nameBits: UInt64 = 0
    /// The longest name in bytes of UTF-8.
    var longestName: UInt16 = 0
    /// The longest string in the list itself, not in its arrays and objects, in bytes of UTF-8.
    var longestString: UInt32 = 0

    mutating func formUnion(_ other: PropertyBounds) {
        depth = max(depth, other.depth)
        sanitizations.formUnion(other.sanitizations)
        hasOnlyASCIINames = hasOnlyASCIINames && other.hasOnlyASCIINames
        nameBits |= other.nameBits
        longestName = max(longestName, other.longestName)
        longestString = max(longestString, other.longestString)
    }

    /// Adds a sanitized pair.
    mutating func add(_ name: String, _ value: PropertyValue) {
        depth = max(depth, UInt8(value.depth + 1))
        let name = NameFingerprint(name)
        hasOnlyASCIINames = hasOnlyASCIINames && name.isASCII
        nameBits |= name.bit
        longestName = max(longestName, UInt16(clamping: name.length))
        if case .string(let string) = value { longestString = max(longestString, UInt32(clamping: string.utf8.count)) }
    }
}

extension PropertyBounds {
    /// The bounds of pairs that need no change: unique ASCII names and values that can be stored, as in nearly every list.
    ///
    /// Nil if sanitization may be necessary. One pass without a copy finds out.
    init?(plain pairs: borrowing [(String, PropertyValue)]) {
        guard pairs.count <= 32, let bounds = pairs.withUnsafeBufferPointer({ PropertyBounds(plain: $0) }) else {
            return nil
        }
        self = bounds
    }

    private init?(plain pairs: UnsafeBufferPointer<(String, PropertyValue)>) {
        var (longestName, longestString) = (0, 0)
        var hashBits: UInt64 = 0
        for index in 0..<pairs.count {
            let name = NameFingerprint(pairs[index].0)
            guard name.isASCII else { return nil }
            longestName = max(longestName, name.length)
            switch pairs[index].1 {
            case .string(let string): longestString = max(longestString, string.utf8.count)
            case .double(let double): guard double.isFinite else { return nil }
            case .int, .bool, .null: break
            case .date, .array, .object: guard add(rare: pairs[index].1) else { return nil }
            }
            let hashBit: UInt64 = 1 << (UInt64(name.hash) & 63)
            if nameBits & name.bit != 0, hashBits & hashBit != 0 {
                for earlier in 0..<index where pairs[earlier].0.isSameASCII(as: pairs[index].0) { return nil }
            }
            nameBits |= name.bit
            hashBits |= hashBit
        }
        guard longestName <= Event.maximumNameBytes, longestString <= PropertyValue.maximumStringBytes
        else { return nil }
        self.longestName = UInt16(longestName)
        self.longestString = UInt32(longestString)
    }

    /// Returns whether a date, an array or an object can be stored as it is.
    // Not inlined, because the loop would retain each value.
    @inline(never)
    private mutating func add(rare value: PropertyValue) -> Bool {
        var changes: Sanitizations = []
        switch value {
        case .date(let date): return Timestamp.writable.contains(date)
        case .array(let array): changes = array.sanitizations
        case .object(let object): changes = object.bounds.sanitizations
        default: return false
        }
        guard value.depth < PropertyValue.maximumDepth else { return false }
        depth = max(depth, UInt8(value.depth + 1))
        sanitizations.formUnion(changes)
        return true
    }
}

extension Properties {
    var bounds: PropertyBounds { storage.bounds }

    /// The levels of arrays and objects, including the list.
    package var nesting: Int { Int(bounds.depth) }

    /// Whether no value is an array or an object.
    package var isFlat: Bool { bounds.depth == 1 }

    /// The sanitizations of the values, each once.
    package var sanitizations: [Sanitization] { bounds.sanitizations.causes }

    /// An upper bound for the length of names.
    package var longestNameBytes: Int { Int(bounds.longestName) }

    /// An upper bound for the length of strings, if ``isFlat``.
    package var longestStringBytes: Int { Int(bounds.longestString) }

    /// Returns whether a name in the list itself, not in its objects, is one of `names`.
    package func hasName(among names: CaseInsensitiveNames) -> Bool { storage.hasName(among: names) }
}
