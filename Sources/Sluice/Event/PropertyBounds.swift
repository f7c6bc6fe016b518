/// What is known of a list of properties without looking at them. All of it holds after removals too, as an upper bound.
struct PropertyBounds: Sendable {
    /// Levels of arrays and objects, the list's own included.
    var depth: UInt8 = 1
    var sanitizations: Sanitizations = []
    /// Names of ASCII are the same if their bytes are; of others, Unicode knows several spellings of the same.
    var hasOnlyASCIINames = true
    /// The bits of all names, by which most lists can be told to have none in common.
    var nameBits: UInt64 = 0
    /// In bytes of UTF-8.
    var longestName: UInt16 = 0
    /// Of the strings that stand in the list itself, in bytes of UTF-8.
    var longestString: UInt32 = 0

    init() {}

    mutating func formUnion(_ other: PropertyBounds) {
        depth = max(depth, other.depth)
        sanitizations.formUnion(other.sanitizations)
        hasOnlyASCIINames = hasOnlyASCIINames && other.hasOnlyASCIINames
        nameBits |= other.nameBits
        longestName = max(longestName, other.longestName)
        longestString = max(longestString, other.longestString)
    }

    /// Takes in a pair that is keepable.
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
    /// The bounds of pairs that can be kept as they are; nil if any needs a closer look.
    ///
    /// That is nearly never: names of ASCII, each once, and scalars. One pass, which copies nothing, finds out.
    init?(plain pairs: [(String, PropertyValue)]) {
        guard pairs.count <= 32 else { return nil }
        let bounds = pairs.withUnsafeBufferPointer { PropertyBounds(plain: $0) }
        guard let bounds else { return nil }
        self = bounds
    }

    private init?(plain pairs: UnsafeBufferPointer<(String, PropertyValue)>) {
        var (longestName, longestString) = (0, 0)
        for index in 0..<pairs.count {
            let name = NameFingerprint(pairs[index].0)
            guard name.isASCII else { return nil }
            longestName = max(longestName, name.length)
            switch pairs[index].1 {
            case .string(let string): longestString = max(longestString, string.utf8.count)
            case .double(let double): guard double.isFinite else { return nil }
            case .int, .bool, .null: break
            case .date, .array, .object: return nil
            }
            if nameBits & name.bit != 0 {
                for earlier in 0..<index where pairs[earlier].0.isSameASCII(as: pairs[index].0) { return nil }
            }
            nameBits |= name.bit
        }
        guard longestName <= Event.maximumNameBytes, longestString <= PropertyValue.maximumStringBytes
        else { return nil }
        self.longestName = UInt16(longestName)
        self.longestString = UInt32(longestString)
    }
}

extension Properties {
    /// Levels of arrays and objects, the list's own included.
    package var nesting: Int { Int(bounds.depth) }

    /// Whether there is certainly no array and no object among the values.
    package var isFlat: Bool { bounds.depth == 1 }

    /// No name is longer.
    package var longestNameBytes: Int { Int(bounds.longestName) }

    /// If ``isFlat``, no string is longer.
    package var longestStringBytes: Int { Int(bounds.longestString) }
}

extension [(String, PropertyValue)] {
    fileprivate func hasName(among names: CaseInsensitiveNames) -> Bool {
        withUnsafeBufferPointer { pairs in
            for index in pairs.indices where names.contains(pairs[index].0) { return true }
            return false
        }
    }
}

extension Properties {
    /// Whether any name in the list itself is one of `names`.
    package func hasName(among names: CaseInsensitiveNames) -> Bool {
        if bounds.nameBits & names.bits == 0 { return false }
        if pairs.hasName(among: names) { return true }
        guard let block, block.bounds.nameBits & names.bits != 0 else { return false }
        return block.pairs.hasName(among: names)
    }
}
