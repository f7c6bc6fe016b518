internal import SluiceEvents

/// The places in which a ``PersistedState`` is kept. Take turns to use them.
struct StatePlaces<Value: PersistedValue>: Sendable {
    let item: String
    private let places: [Persistence.Place]

    init(_ item: String, in persistence: Persistence) {
        self.item = item
        places = persistence.places.filter { !$0.keepsDevicePart }
    }

    var isEmpty: Bool { places.isEmpty }

    /// The names of the state in its places, such as the paths of files.
    var names: [String] { places.map { $0.name(item) } }

    /// Reads the first place with a valid state, and writes it to the places before and after it that differ.
    ///
    /// - Returns: The value, `damaged` if there are damaged ones only, or nil; and whether all places have it.
    func read(
        ifDamaged damaged: Value, _ notes: inout [String]
    ) throws(SluiceError) -> (value: Value?, isEverywhere: Bool) {
        var value: Value?
        var stale: [Persistence.Place] = []
        var isDamaged = false
        for place in places {
            do throws(SluiceError) {
                var stored: Value?
                if let bytes = try place.read(item) {
                    stored = try PersistedRecord<Value>.value(of: bytes, item, in: place)
                    if stored == nil {
                        notes.append(try place.keepAside(bytes, item))
                        isDamaged = true
                    }
                }
                value = value ?? stored
                if stored == nil || stored != value { stale.append(place) }
            } catch {
                // This place may have the state, so one below it doesn't count.
                guard value != nil else { throw error }
                notes.append("the state is kept in fewer places than it should be: \(error)")
            }
        }
        guard let value else { return (isDamaged ? damaged : nil, false) }
        do throws(SluiceError) {
            for place in stale.reversed() { try place.write(item, bytes(of: value)) }
            return (value, true)
        } catch {
            notes.append("the state is kept in fewer places than it should be: \(error)")
            return (value, false)
        }
    }

    func bytes(of value: Value) -> [UInt8] { PersistedRecord.bytes(of: value, item) }

    func write(_ bytes: [UInt8]) throws(SluiceError) {
        // The place that counts comes last: a failure before it has changed nothing.
        for place in places.reversed() { try place.write(item, bytes) }
    }

    /// Removes the state and damaged ones.
    ///
    /// - Returns: Whether a place had one.
    func remove() throws(SluiceError) -> Bool {
        var wasStored = false
        for place in places {
            // Without its key, state can be removed, too.
            wasStored = try place.plain.read(item) != nil || wasStored
            try place.remove(item)
            try place.remove("\(item).corrupt")
        }
        return wasStored
    }
}
