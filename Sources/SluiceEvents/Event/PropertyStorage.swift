/// The pairs of ``Properties``: keeps names unique and values sanitized, finds names, and shares a block with other lists.
@usableFromInline
struct PropertyStorage: Sendable {
    // Tuples rather than Property: the array of a dictionary literal can then be used without a copy.
    @usableFromInline typealias Pair = (String, PropertyValue)

    /// All pairs except the pairs of ``block``.
    @usableFromInline private(set) var pairs: [Pair]
    /// Pairs that other lists share.
    @usableFromInline private(set) var block: SharedProperties?
    /// The number of ``pairs`` before the block.
    @usableFromInline private(set) var blockStart = 0
    private(set) var bounds = PropertyBounds()

    init() {
        pairs = []
    }

    init(_ pairs: consuming [Pair]) {
        let bounds = PropertyBounds(plain: pairs)
        self.pairs = pairs
        if let bounds { self.bounds = bounds } else { sanitize() }
    }

    /// Replaces the pairs of `earlier`, and keeps its sanitizations.
    init(_ pairs: [Pair], after earlier: PropertyStorage) {
        self.init(pairs)
        bounds.sanitizations.formUnion(earlier.bounds.sanitizations)
    }

    /// Pairs that are in `block` only.
    init(_ block: SharedProperties) {
        pairs = []
        self.block = block
        bounds = block.bounds
    }

    // MARK: Reading

    var count: Int { pairs.count + (block?.pairs.count ?? 0) }

    func pair(at position: Int) -> Pair {
        guard let block, position >= blockStart else { return pairs[position] }
        let inBlock = position - blockStart
        return inBlock < block.pairs.count ? block.pairs[inBlock] : pairs[position - block.pairs.count]
    }

    /// Passes each name and value to `body` in order, without the reference counting that a ``Property`` costs.
    @inlinable
    @inline(__always)
    func forEachPair(_ body: (borrowing String, borrowing PropertyValue) -> Void) {
        var index = 0
        while index < blockStart {
            body(pairs[index].0, pairs[index].1)
            index += 1
        }
        if let block {
            for inBlock in 0..<block.pairs.count { body(block.pairs[inBlock].0, block.pairs[inBlock].1) }
        }
        while index < pairs.count {
            body(pairs[index].0, pairs[index].1)
            index += 1
        }
    }

    func value(for name: String) -> PropertyValue? {
        let fingerprint = NameFingerprint(name)
        if let index = index(of: name, fingerprint) { return pairs[index].1 }
        guard let block, let index = block.index(of: name, fingerprint) else { return nil }
        return block.pairs[index].1
    }

    /// Searches ``pairs``, not the block.
    private func index(of name: String, _ fingerprint: NameFingerprint) -> Int? {
        pairs[...].index(of: name, fingerprint, bounds)
    }

    /// For more names in two lists than this, each list is hashed once. A search for each name costs less for few names.
    static let fewNames = 64

    /// The names in a set; nil if a search through the list is faster for a number of names.
    private func names(toSearchFor others: Int) -> Set<String>? {
        count > PropertyStorage.fewNames && others > PropertyStorage.fewNames ? allNames : nil
    }

    private var allNames: Set<String> {
        @inline(never) get {
            var names: Set<String> = []
            forEachPair { name, _ in names.insert(copy name) }
            return names
        }
    }

    /// Returns whether a name in the list itself, not in its objects, is one of `names`.
    func hasName(among names: CaseInsensitiveNames) -> Bool {
        guard names.mayContain(aNameWithin: bounds) else { return false }
        if PropertyStorage.hasName(pairs, among: names) { return true }
        guard let block, names.mayContain(aNameWithin: block.bounds) else { return false }
        return PropertyStorage.hasName(block.pairs, among: names)
    }

    private static func hasName(_ pairs: [Pair], among names: CaseInsensitiveNames) -> Bool {
        pairs.withUnsafeBufferPointer { pairs in
            for index in 0..<pairs.count where names.contains(pairs[index].0) { return true }
            return false
        }
    }

    // MARK: Changing

    /// Sets the value for a name, which is added at the end if it is new. Nil removes it.
    mutating func set(_ name: String, _ value: PropertyValue?) {
        let fingerprint = NameFingerprint(name)
        if block?.index(of: name, fingerprint) != nil { copyOutBlock() }
        switch (index(of: name, fingerprint), value) {
        case (let index?, let value?):
            pairs[index].1 = value
            sanitize(at: index)
        case (let index?, nil):
            pairs.remove(at: index)
            if index < blockStart { blockStart -= 1 }
        case (nil, let value?):
            append(name, value)
        case (nil, nil):
            break
        }
    }

    /// Counts a part that could not be encoded, and isn't in the list.
    mutating func noteUnencodable() { bounds.sanitizations.insert(.unencodable) }

    /// Adds the pairs of `others`, whose values count for names that are in both.
    mutating func merge(_ others: PropertyStorage) {
        let sanitizations = bounds.sanitizations.union(others.bounds.sanitizations)
        if count == 0 {
            self = others
        } else if count > PropertyStorage.fewNames, others.count > PropertyStorage.fewNames {
            var all: [Pair] = []
            all.reserveCapacity(count + others.count)
            forEachPair { all.append((copy $0, copy $1)) }
            others.forEachPair { all.append((copy $0, copy $1)) }
            self = PropertyStorage(PropertyStorage.unique(all))
        } else {
            others.forEachPair { name, value in set(copy name, copy value) }
        }
        bounds.sanitizations = sanitizations
    }

    /// Adds the pairs of `others` whose names are new.
    mutating func addDefaults(_ others: PropertyStorage) {
        if !share(others) { copyDefaults(others) }
    }

    // A function of its own, because sharing is the usual case and must stay short.
    @inline(never)
    private mutating func copyDefaults(_ others: PropertyStorage) {
        let names = names(toSearchFor: others.count)
        let (own, ownBlock, ownBounds) = (pairs.count, block, bounds)
        pairs.reserveCapacity(own + others.count)
        others.forEachPair { name, value in
            let isTaken: Bool
            if let names {
                isTaken = names.contains(name)
            } else {
                let fingerprint = NameFingerprint(name)
                isTaken =
                    pairs[..<own].index(of: name, fingerprint, ownBounds) != nil
                    || ownBlock?.index(of: name, fingerprint) != nil
            }
            if !isTaken { pairs.append((name, value)) }
        }
        // The others have been sanitized.
        bounds.formUnion(others.bounds)
    }

    mutating func removeAll(where shouldRemove: (Pair) throws -> Bool) rethrows {
        copyOutBlock()
        try pairs.removeAll(where: shouldRemove)
    }

    // MARK: The block

    /// Adds `others` by reference. Returns false if that isn't possible.
    private mutating func share(_ others: PropertyStorage) -> Bool {
        guard block == nil, let block = others.block, others.pairs.isEmpty else { return false }
        // A property of the list takes precedence over one of the block with the same name.
        let isASCII = bounds.hasOnlyASCIINames && block.bounds.hasOnlyASCIINames
        let haveNoBitInCommon = isASCII && bounds.nameBits & block.bounds.nameBits == 0
        guard haveNoBitInCommon || !hasName(of: block) else { return false }
        bounds.formUnion(block.bounds)
        self.block = consume block
        blockStart = pairs.count
        return true
    }

    private func hasName(of block: SharedProperties) -> Bool {
        if let names = names(toSearchFor: block.pairs.count) { return block.pairs.contains { names.contains($0.0) } }
        return pairs.contains { block.index(of: $0.0, NameFingerprint($0.0)) != nil }
    }

    /// Replaces the block by its pairs, which can then be changed.
    private mutating func copyOutBlock() {
        guard let block else { return }
        pairs.insert(contentsOf: block.pairs, at: blockStart)
        self.block = nil
        blockStart = 0
    }

    // MARK: Sanitizing

    private mutating func append(_ name: String, _ value: PropertyValue) {
        guard name.utf8.count <= Event.maximumNameBytes else {
            bounds.sanitizations.insert(.droppedProperty)
            return
        }
        pairs.append((name, value))
        sanitize(at: pairs.count - 1)
    }

    private mutating func sanitize(at index: Int) {
        pairs[index].1 = pairs[index].1.sanitized(&bounds.sanitizations)
        bounds.add(pairs[index].0, pairs[index].1)
    }

    private mutating func sanitize() {
        let hasDuplicates = PropertyStorage.hasDuplicates(pairs)
        if hasDuplicates { bounds.sanitizations.insert(.droppedProperty) }
        let unsanitized = hasDuplicates ? PropertyStorage.unique(pairs) : pairs
        pairs = []
        pairs.reserveCapacity(unsanitized.count)
        for (name, value) in unsanitized { append(name, value) }
    }

    static func hasDuplicates(_ pairs: [Pair]) -> Bool {
        // For few names, comparing all pairs is faster than hashing.
        guard pairs.count <= 12 else { return Set(pairs.lazy.map(\.0)).count < pairs.count }
        for index in pairs.indices.dropFirst() where pairs[..<index].contains(where: { $0.0 == pairs[index].0 }) {
            return true
        }
        return false
    }

    private static func unique(_ pairs: [Pair]) -> [Pair] {
        var positions: [String: Int] = [:]
        var result: [Pair] = []
        for (name, value) in pairs {
            if let position = positions[name] {
                result[position].1 = value
            } else {
                positions[name] = result.count
                result.append((name, value))
            }
        }
        return result
    }

    /// Returns the pairs without the values that are nested deeper than `limit`, which become null.
    func truncated(toDepth limit: Int, _ sanitizations: inout Sanitizations) -> PropertyStorage {
        var result = self
        result.copyOutBlock()
        result.bounds.depth = 1
        for index in result.pairs.indices {
            let value = result.pairs[index].1.truncated(toDepth: limit - 1, &sanitizations)
            result.pairs[index].1 = value
            result.bounds.depth = max(result.bounds.depth, UInt8(value.depth + 1))
        }
        return result
    }
}

extension ArraySlice where Element == PropertyStorage.Pair {
    /// `fingerprint` is that of `name`; `bounds` are the bounds of at least these pairs.
    func index(of name: String, _ fingerprint: NameFingerprint, _ bounds: PropertyBounds) -> Int? {
        guard fingerprint.isASCII, bounds.hasOnlyASCIINames else { return firstIndex { $0.0 == name } }
        guard bounds.nameBits & fingerprint.bit != 0 else { return nil }
        return withUnsafeBufferPointer { pairs in
            for index in 0..<pairs.count where pairs[index].0.utf8.count == fingerprint.length && pairs[index].0 == name
            {
                return startIndex + index
            }
            return nil
        }
    }
}
