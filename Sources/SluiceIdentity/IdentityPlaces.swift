import Sluice

/// The places of an identity, and the messages about them.
struct IdentityPlaces: Sendable {
    static let item = "identity"

    /// The places that keep all ids. The first one counts.
    let whole: [Persistence.Place]
    /// The places that keep only the device's part, which count for that part.
    let device: [Persistence.Place]
    /// Messages to report when the turn has ended.
    private let notes = Locked<[String]>([])

    init(_ persistence: Persistence) {
        whole = persistence.places.filter { !$0.keepsDevicePart }
        device = persistence.places.filter(\.keepsDevicePart)
    }

    var all: [Persistence.Place] { whole + device }

    /// The names of the identity in its places, such as the paths of files.
    var names: [String] { all.map { $0.name(Self.item) } }

    /// Whether several objects can have the identity together: each reads the file that the others have written, under a lock.
    /// One with another list of places, or an encryption that the others don't have, would write bytes that they can't read or don't find.
    var canBeShared: Bool { if case .directory? = all.first { all.count == 1 } else { false } }

    func note(_ message: String) {
        notes.withLock { $0.append(message) }
    }

    func takeNotes() -> [String] { notes.withLock { exchange(&$0, with: []) } }

    /// The records of several places.
    struct Reading {
        /// The first one, which counts.
        var record: IdentityRecord?
        /// Whether the first one was written on this device.
        var isOwn = true
        /// Set if that is unknown, because the device's id is unknown.
        var unknownDevice: SluiceError?
        /// The places that lack the record, or differ.
        var stale: [Persistence.Place] = []
        var failure: SluiceError?
    }

    func read(_ places: [Persistence.Place]) -> Reading {
        var reading = Reading()
        for place in places {
            do throws(SluiceError) {
                guard var record = try record(in: place) else {
                    reading.stale.append(place)
                    continue
                }
                let isOwn = record.isOwn(in: place)
                if !isOwn || record.isPending || reading.record.map({ $0.ids != record.ids }) ?? false {
                    reading.stale.append(place)
                }
                if place.keepsDevicePart {
                    // It may hold more, from an earlier version.
                    if record.ids != record.ids.devicePart { reading.stale.append(place) }
                    record.ids = record.ids.devicePart
                }
                guard reading.record == nil, isOwn || !place.keepsDevicePart else { continue }
                reading.record = record
                reading.isOwn = isOwn
                if !isOwn, place.device == nil { reading.unknownDevice = place.unknownDevice(Self.item) }
            } catch {
                reading.failure = reading.failure ?? error
            }
        }
        return reading
    }

    /// Returns nil for damaged bytes.
    func record(_ bytes: [UInt8], _ place: Persistence.Place) throws(SluiceError) -> IdentityRecord? {
        try PersistedRecord<IdentityRecord>.value(of: bytes, Self.item, in: place)
    }

    /// Returns nil without a record, and for a damaged one, which is kept aside.
    func record(in place: Persistence.Place) throws(SluiceError) -> IdentityRecord? {
        guard let bytes = try place.read(Self.item) else { return nil }
        let record = try record(bytes, place)
        if record == nil { note(try place.keepAside(bytes, Self.item)) }
        return record
    }

    func write(
        _ ids: UserIDs, to place: Persistence.Place, isPending: Bool = false
    ) throws(SluiceError) {
        let record = IdentityRecord(ids, in: place, isPending: isPending)
        try place.write(Self.item, PersistedRecord.bytes(of: record, Self.item))
    }

    /// Removes everything, also the file of the lock, which holds no data.
    func remove() throws(SluiceError) {
        for place in all {
            try place.remove(Self.item)
            try place.remove("\(Self.item).corrupt")
            if case .directory = place.plain { try place.remove("\(Self.item).lock") }
        }
    }
}
