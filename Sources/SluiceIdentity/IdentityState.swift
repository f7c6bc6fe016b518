import Sluice

/// The ids in memory for `track`, and in several places for the next launch and for other processes.
///
/// Unlike a ``Sluice/PersistedState``, it writes a change before the change counts, several processes can change it,
/// and a part of it belongs to the device: that part survives the app's removal if the place permits, and a backup
/// doesn't move it to another device.
final class IdentityState: Sendable {
    private static let item = "identity"

    private struct Disk {
        var isLoaded = false
        /// The ids that were read or written last; nil if they are unknown.
        var written: UserIDs?
        /// An earlier process ended while it was writing the device's part, and a second attempt has failed.
        var isPending = false
        /// The file's bytes at the last check for changes of other processes.
        var seen: [UInt8]?
    }

    struct Memory {
        /// Nil until they have been loaded.
        var ids: UserIDs?
        fileprivate var isShared: Bool
        /// The time of the last check for changes of other processes, in milliseconds.
        private var checkedAt = Int64.min

        fileprivate init(isShared: Bool) { self.isShared = isShared }

        /// Returns true once per second if other processes can change the ids: call ``IdentityState/refresh()`` then.
        /// It also returns true if the time goes back.
        mutating func isDue(at time: Timestamp) -> Bool {
            guard isShared, !(0..<1_000).contains(time.milliseconds &- checkedAt) else { return false }
            checkedAt = time.milliseconds
            return true
        }

        fileprivate mutating func checkAgain() { checkedAt = .min }
    }

    /// `track` takes this lock, and never waits for the turn.
    let memory: Locked<Memory>
    /// For the places and ``disk``.
    private let turn = Turn()
    private let disk = Locked(Disk())
    /// Messages to report when the turn has ended.
    private let notes = Locked<[String]>([])
    /// The places that keep all ids. The first one counts.
    private let places: [Persistence.Place]
    /// The places that keep only the device's part, which count for that part.
    private let devicePlaces: [Persistence.Place]
    private let report: @Sendable (String) -> Void
    private let initial: @Sendable () -> UserIDs

    /// Creates a state, which is loaded later.
    ///
    /// - Parameters:
    ///   - persistence: where the ids are kept.
    ///   - report: gets reports of damage and of places that can't be written.
    ///   - initial: the ids of a first launch.
    init(
        in persistence: Persistence, report: @escaping @Sendable (String) -> Void,
        initial: @escaping @Sendable () -> UserIDs
    ) {
        places = persistence.places.filter { !$0.keepsDevicePart }
        devicePlaces = persistence.places.filter(\.keepsDevicePart)
        self.report = report
        self.initial = initial
        var isShared = false
        if case .directory? = places.first { isShared = true }
        memory = Locked(Memory(isShared: isShared))
    }

    // MARK: Reading

    private func load() throws(SluiceError) {
        guard !disk.withLock(\.isLoaded) else { return }
        let whole = read(places)
        let device = read(devicePlaces)
        var found: UserIDs?
        var stale = whole.stale + device.stale
        var new: UserIDs?
        switch (whole.record, device.record) {
        case (let record?, _) where record.isPending && whole.isOwn:
            // The process ended before it had written the device's part.
            found = record.ids
            stale = whole.stale + devicePlaces
        case (let record?, let part?):
            var ids = record.ids
            ids.takeDevicePart(from: part.ids)
            if ids != record.ids { stale = places + device.stale }
            found = ids
        case (let record?, nil) where whole.isOwn:
            found = record.ids
        case (let record?, nil):
            // A backup of another device.
            if let failure = device.failure ?? whole.unknownDevice { throw failure }
            new = record.ids
            new?.takeDevicePart(from: initial())
        case (nil, let part):
            // A place that can't be read may hold the ids, so don't start from the beginning.
            if let failure = whole.failure ?? (part == nil ? device.failure : nil) { throw failure }
            new = part?.ids
        }
        let isComplete = found.map { repair(stale, with: $0) } ?? true
        disk.withLock { disk in
            disk.isLoaded = true
            disk.written = found
            if !isComplete { disk.isPending = whole.record?.isPending ?? false }
        }
        let ids = found ?? new ?? initial()
        // A change that came before the ids could be read is newer.
        memory.withLock { $0.ids = $0.ids ?? ids }
    }

    /// The records of several places.
    private struct Reading {
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

    private func read(_ places: [Persistence.Place]) -> Reading {
        var reading = Reading()
        for place in places {
            do throws(SluiceError) {
                guard let bytes = try place.read(IdentityState.item) else {
                    reading.stale.append(place)
                    continue
                }
                guard var record = try record(bytes, place) else {
                    try keepAside(bytes, in: place)
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
                if !isOwn, place.device == nil { reading.unknownDevice = place.unknownDevice(IdentityState.item) }
            } catch {
                reading.failure = reading.failure ?? error
            }
        }
        return reading
    }

    /// Returns nil for damaged bytes.
    private func record(_ bytes: [UInt8], _ place: Persistence.Place) throws(SluiceError) -> IdentityRecord? {
        try PersistedRecord<IdentityRecord>.value(of: bytes, IdentityState.item, in: place)
    }

    private func keepAside(_ bytes: [UInt8], in place: Persistence.Place) throws(SluiceError) {
        let note = try place.keepAside(bytes, IdentityState.item)
        notes.withLock { $0.append(note) }
    }

    @discardableResult
    private func repair(_ stale: [Persistence.Place], with ids: UserIDs) -> Bool {
        do throws(SluiceError) {
            for place in stale.reversed() { try write(ids, to: place) }
            return true
        } catch {
            notes.withLock { $0.append("the identity is kept in fewer places than it should be: \(error)") }
            return false
        }
    }

    // MARK: Changes of other processes

    /// Runs `body` with the ids that are on disk now. No other process changes them until it ends.
    private func withLatest<Result>(_ body: () throws(SluiceError) -> Result) throws(SluiceError) -> Result {
        defer { reportNotes() }
        return try withFileLocks { () throws(SluiceError) in
            try turn.take { () throws(SluiceError) in
                if disk.withLock(\.isLoaded) { try readChanges() }
                try load()
                return try body()
            }
        }
    }

    /// Another process may keep the locks for seconds, so this happens before the turn.
    private func withFileLocks<Result>(_ body: () throws(SluiceError) -> Result) throws(SluiceError) -> Result {
        var locks: [OpenFile] = []
        defer { withExtendedLifetime(locks) {} }
        for place in places { if let lock = try place.lock(IdentityState.item) { locks.append(lock) } }
        return try body()
    }

    /// Reports the notes of the turn, after its end: the host may use the plugin when it gets a diagnostic.
    private func reportNotes() {
        let waiting = notes.withLock { notes in
            defer { notes = [] }
            return notes
        }
        for note in waiting { report(note) }
    }

    /// Adopts the changes of other processes. If the file is damaged or has been removed, the next change writes the
    /// ids in memory.
    private func readChanges() throws(SluiceError) {
        guard var ids = memory.withLock(\.ids) else { return }
        if let place = places.first, place.isShared {
            var found: UserIDs?
            if let bytes = try place.read(IdentityState.item) {
                found = try record(bytes, place)?.ids
                if found == nil { try keepAside(bytes, in: place) }
            }
            ids = found ?? ids
            disk.withLock { [found] in $0.written = found }
        }
        for place in devicePlaces where place.isShared {
            guard let bytes = try place.read(IdentityState.item), let record = try record(bytes, place) else {
                continue
            }
            if record.isOwn(in: place) { ids.takeDevicePart(from: record.ids) }
        }
        memory.withLock { $0.ids = ids }
    }

    /// Adopts the last change of another process to the file, without waiting. If the file is damaged or missing, the
    /// ids stay as they are.
    func refresh() {
        do throws(SluiceError) {
            let isDone: Void? = try turn.takeIfFree { () throws(SluiceError) in
                let (isLoaded, seen) = disk.withLock { ($0.isLoaded, $0.seen) }
                guard isLoaded, let place = places.first, let bytes = place.peek(IdentityState.item), bytes != seen
                else { return }
                disk.withLock { $0.seen = bytes }
                guard var ids = try record(bytes, place)?.ids else { return }
                disk.withLock { [ids] in $0.written = ids }
                memory.withLock { memory in
                    // The places of the device's part count for it.
                    if !devicePlaces.isEmpty, let old = memory.ids { ids.takeDevicePart(from: old) }
                    memory.ids = ids
                }
            }
            if isDone == nil { memory.withLock { $0.checkAgain() } }
        } catch {
            // A later program wrote it. The next change reads it too, and throws.
        }
    }

    // MARK: Writing

    /// Changes the ids, on disk first. It also writes ids that have only been in memory.
    ///
    /// - Returns: whether the ids have changed.
    /// - Throws: an error of a place or of `body`; the ids are then as they were.
    @discardableResult
    func change(_ body: (inout UserIDs) throws(SluiceError) -> Void) throws(SluiceError) -> Bool {
        try withLatest { () throws(SluiceError) in
            guard let old = memory.withLock(\.ids) else { return false }
            var new = old
            try body(&new)
            try write(new)
            memory.withLock { $0.ids = new }
            return new != old
        }
    }

    /// Replaces the ids, and removes damaged bytes that were kept aside. After a crash, the next launch has the old ids
    /// or the new ones, in all places.
    ///
    /// - Throws: an error of a place; the ids are then as they were.
    func erase(for ids: UserIDs) throws(SluiceError) {
        try withLatest { () throws(SluiceError) in
            for place in places + devicePlaces { try place.remove("\(IdentityState.item).corrupt") }
            try write(ids)
            memory.withLock { $0.ids = ids }
        }
    }

    private func write(_ ids: UserIDs) throws(SluiceError) {
        let (written, isPending) = disk.withLock { ($0.written, $0.isPending) }
        guard ids != written else { return }
        let changesDevicePart = !devicePlaces.isEmpty && (isPending || ids.devicePart != written?.devicePart)
        // After a failure it is unknown which places have them.
        disk.withLock { $0.written = nil }
        // The place that counts comes last: a failure before it has changed nothing.
        for place in places.reversed() { try write(ids, to: place, isPending: changesDevicePart) }
        if changesDevicePart {
            do throws(SluiceError) {
                for place in devicePlaces.reversed() { try write(ids, to: place) }
            } catch {
                // Otherwise the next launch would complete the change.
                if let old = memory.withLock(\.ids) { repair(places, with: old) }
                throw error
            }
            disk.withLock { $0.isPending = false }
            repair(places, with: ids)
        }
        disk.withLock { $0.written = ids }
    }

    private func write(
        _ ids: UserIDs, to place: Persistence.Place, isPending: Bool = false
    ) throws(SluiceError) {
        let record = IdentityRecord(ids, in: place, isPending: isPending)
        try place.write(IdentityState.item, PersistedRecord.bytes(of: record, IdentityState.item))
    }
}
