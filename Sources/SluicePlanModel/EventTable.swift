/// Finds the events of a plan by name.
///
/// A dictionary's hash is slower, because it resists names that an attacker chooses to collide. The names in a plan need no such
/// protection.
struct EventTable: Sendable {
    /// Events by the hash of the bytes of their names. The number of slots is a power of two, and at most half of them are
    /// taken.
    private let slots: [EventPlan?]
    /// The events by name. Finds a name in another Unicode spelling too.
    private let spellings: [String: EventPlan]

    init(_ events: [EventPlan]) {
        var slots = [EventPlan?](repeating: nil, count: 2)
        while slots.count < 2 * events.count { slots += slots }
        for event in events {
            var index = EventTable.hash(event.name) & (slots.count - 1)
            while slots[index] != nil { index = (index + 1) & (slots.count - 1) }
            slots[index] = event
        }
        self.slots = slots
        spellings = Dictionary(uniqueKeysWithValues: events.map { ($0.name, $0) })
    }

    func event(named name: String) -> EventPlan? {
        var index = EventTable.hash(name) & (slots.count - 1)
        while let event = slots[index] {
            if event.name == name { return event }
            index = (index + 1) & (slots.count - 1)
        }
        return spellings[name]
    }

    @inline(__always)
    private static func hash(_ name: String) -> Int {
        let hash = name.utf8.withContiguousStorageIfAvailable { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            var hash = UInt64(truncatingIfNeeded: bytes.count)
            func add(_ word: UInt64) {
                hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
                hash ^= hash >> 32
            }
            var offset = 0
            while offset + 8 <= bytes.count {
                add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset += 8
            }
            while offset < bytes.count {
                add(UInt64(bytes[offset]))
                offset += 1
            }
            return hash
        }
        // A string bridged from Objective-C has no contiguous storage, and is found by its spelling.
        return Int(truncatingIfNeeded: hash ?? 0)
    }
}
