import Sluice

/// The ids in memory for `track`, and in several places for the next launch and for other processes.
///
/// Unlike a ``Sluice/PersistedState``, it writes a change before the change counts, several processes can change it,
/// and a part of it belongs to the device: that part survives the app's removal if the place permits, and a backup
/// doesn't move it to another device.
final class IdentityState: Sendable {
    private struct Disk {
        var isLoaded = false
        /// The ids that were made without the user's consent, if there has not been a change since.
        var provisional: UserIDs?
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
        fileprivate var checkedAt = Int64.min

        /// Returns true once per second if other processes can change the ids: call ``IdentityState/refresh()`` then.
        /// It also returns true if the time goes back.
        mutating func isDue(at time: Timestamp) -> Bool {
            guard isShared, !(0..<1_000).contains(time.milliseconds &- checkedAt) else { return false }
            checkedAt = time.milliseconds
            return true
        }
    }

    /// `track` takes this lock, and never waits for the turn.
    let memory: Locked<Memory>
    /// For the places and ``disk``.
    private let turn = Turn()
    private let disk = Locked(Disk())
    let places: IdentityPlaces
    private let report: @Sendable (String) -> Void
    private let initial: @Sendable () -> UserIDs
    private let renewed: @Sendable () -> UserIDs
    /// The gate that decides about the ids, and that of the pipeline in which they stand, or stood last.
    private let gates = Locked<(own: StateGate?, pipeline: StateGate?)>((nil, nil))

    /// Creates a state, which is loaded later.
    ///
    /// - Parameters:
    ///   - persistence: where the ids are kept.
    ///   - report: gets reports of damage and of places that can't be written.
    ///   - initial: the ids of a first launch.
    ///   - renewed: the ids of a new user.
    init(
        in persistence: Persistence, report: @escaping @Sendable (String) -> Void,
        initial: @escaping @Sendable () -> UserIDs, renewed: @escaping @Sendable () -> UserIDs
    ) {
        places = IdentityPlaces(persistence)
        self.report = report
        self.initial = initial
        self.renewed = renewed
        memory = Locked(Memory(isShared: places.whole.first?.isShared ?? false))
    }

    // MARK: Reading

    private func load() throws(SluiceError) {
        guard !disk.withLock(\.isLoaded) else { return }
        let whole = places.read(places.whole)
        let device = places.read(places.device)
        var found: UserIDs?
        var stale = whole.stale + device.stale
        var new: UserIDs?
        switch (whole.record, device.record) {
        case (let record?, _) where record.isPending && whole.isOwn:
            // The process ended before it had written the device's part.
            found = record.ids
            stale = whole.stale + places.device
        case (let record?, let part?):
            var ids = record.ids
            ids.takeDevicePart(from: part.ids)
            if ids != record.ids { stale = places.whole + device.stale }
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
        let provisional = disk.withLock(\.provisional)
        let isComplete = found.map { repair(stale, with: $0) } ?? true
        disk.withLock { disk in
            disk.isLoaded = true
            disk.provisional = nil
            disk.written = found
            if !isComplete { disk.isPending = whole.record?.isPending ?? false }
        }
        let ids = usable(found ?? new ?? provisional ?? initial())
        // A change that came before the ids could be read is newer.
        memory.withLock { if $0.ids == nil || $0.ids == provisional { $0.ids = ids } }
    }

    /// The stored ids without the invalid ones. The next change writes them.
    private func usable(_ stored: UserIDs) -> UserIDs {
        var ids = stored
        let known = memory.withLock(\.ids)
        ids.removeInvalid(newID: { (known ?? initial()).anonymousID })
        if ids != stored {
            places.note("the stored identity had an id that no method accepts, such as null: it isn't used")
        }
        return ids
    }

    @discardableResult
    private func repair(_ stale: [Persistence.Place], with ids: UserIDs) -> Bool {
        do throws(SluiceError) {
            for place in stale.reversed() { try places.write(ids, to: place) }
            return true
        } catch {
            places.note("the identity is kept in fewer places than it should be: \(error)")
            return false
        }
    }

    // MARK: Changes of other processes

    /// Runs `body` with the ids that are on disk now. No other process changes them until it ends. Without the user's
    /// consent, it runs with the ids in memory.
    private func withLatest<Result>(_ body: () throws(SluiceError) -> Result) throws(SluiceError) -> Result {
        // After the end of the turn: the host may use the plugin when it gets a diagnostic.
        defer { for note in places.takeNotes() { report(note) } }
        guard isOpen else {
            return try turn.take { () throws(SluiceError) in
                if memory.withLock({ $0.ids == nil }) {
                    let ids = initial()
                    memory.withLock { $0.ids = ids }
                    disk.withLock { $0.provisional = ids }
                }
                return try body()
            }
        }
        // Another process may keep the locks for seconds, so this happens before the turn.
        var locks: [OpenFile] = []
        defer { withExtendedLifetime(locks) {} }
        for place in places.whole { if let lock = try place.lock(IdentityPlaces.item) { locks.append(lock) } }
        return try turn.take { () throws(SluiceError) in
            if disk.withLock(\.isLoaded) { try readChanges() }
            try load()
            return try body()
        }
    }

    /// Adopts the changes of other processes. If the file is damaged or has been removed, the next change writes the
    /// ids in memory.
    private func readChanges() throws(SluiceError) {
        guard var ids = memory.withLock(\.ids) else { return }
        if let place = places.whole.first, place.isShared {
            let found = try places.record(in: place)?.ids
            ids = found ?? ids
            disk.withLock { $0.written = found }
        }
        for place in places.device where place.isShared {
            guard let bytes = try place.read(IdentityPlaces.item), let record = try places.record(bytes, place) else {
                continue
            }
            if record.isOwn(in: place) { ids.takeDevicePart(from: record.ids) }
        }
        ids = usable(ids)
        memory.withLock { $0.ids = ids }
    }

    /// Adopts the last change of another process to the file, without waiting. If the file is damaged or missing, the
    /// ids stay as they are.
    func refresh() {
        do throws(SluiceError) {
            let isDone: Void? = try turn.takeIfFree { () throws(SluiceError) in
                let (isLoaded, seen) = disk.withLock { ($0.isLoaded, $0.seen) }
                guard isLoaded, isOpen, let place = places.whole.first, let bytes = place.peek(IdentityPlaces.item),
                    bytes != seen
                else { return }
                disk.withLock { $0.seen = bytes }
                guard var ids = try places.record(bytes, place)?.ids else { return }
                disk.withLock { [ids] in $0.written = ids }
                ids = usable(ids)
                memory.withLock { memory in
                    // The places of the device's part count for it.
                    if !places.device.isEmpty, let old = memory.ids { ids.takeDevicePart(from: old) }
                    memory.ids = ids
                }
            }
            if isDone == nil { memory.withLock { $0.checkedAt = .min } }
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
        try change { (current) throws(SluiceError) in
            for place in places.all { try place.remove("\(IdentityPlaces.item).corrupt") }
            current = ids
        }
    }

    private func write(_ ids: UserIDs) throws(SluiceError) {
        let (written, isPending) = disk.withLock { ($0.written, $0.isPending) }
        guard isOpen, ids != written else { return }
        try requireFree(isShared: places.canBeShared)
        let changesDevicePart = !places.device.isEmpty && (isPending || ids.devicePart != written?.devicePart)
        // After a failure it is unknown which places have them.
        disk.withLock { $0.written = nil }
        // The place that counts comes last: a failure before it has changed nothing.
        for place in places.whole.reversed() { try places.write(ids, to: place, isPending: changesDevicePart) }
        if changesDevicePart {
            do throws(SluiceError) {
                for place in places.device.reversed() { try places.write(ids, to: place) }
            } catch {
                // Otherwise the next launch would complete the change.
                if let old = memory.withLock(\.ids) { repair(places.whole, with: old) }
                throw error
            }
            disk.withLock { $0.isPending = false }
            repair(places.whole, with: ids)
        }
        disk.withLock { $0.written = ids }
    }
}

extension IdentityState {
    /// Adds the ids to an event, after a look at changes of other processes if it is due.
    func identify(_ event: inout Event) {
        let isDue = memory.withLock { memory in
            let isDue = memory.isDue(at: event.time)
            if !isDue { memory.ids?.identify(&event) }
            return isDue
        }
        if isDue {
            refresh()
            memory.withLock { $0.ids?.identify(&event) }
        }
    }

    // MARK: Consent and erasure

    private func requireFree(isShared: Bool) throws(SluiceError) {
        try StateGate.requireFree(places.names, in: gates.withLock(\.pipeline), isShared: isShared)
    }

    private var isOpen: Bool { gates.withLock(\.own)?.isOpen ?? true }

    /// Whether a receiver of this pipeline gets no events for now.
    var hasWaitingReceivers: Bool { gates.withLock(\.own)?.hasWaitingReceivers ?? false }

    /// Keeps the ids behind a gate. Ids that were used before the pipeline was built are removed if the gate is closed.
    func stand(behind new: StateGate?) throws(SluiceError) {
        gates.withLock { $0 = (new, new?.top) }
        let isLoaded = disk.withLock(\.isLoaded)
        if isOpen, !isLoaded { try change { _ in } }
        if let new, new.mustRemove || !new.isOpen && isLoaded { _ = try remove(forgetting: false) }
    }

    func keep() {
        if let error = SluiceError.of(try change { _ in }) {
            report("the identity can't be kept for the next launch: \(error)")
        }
    }

    func remove(forgetting: Bool) throws(SluiceError) -> Int {
        // Also an identity that can be shared: a Consent that stands in no pipeline must not remove it.
        try requireFree(isShared: false)
        var wasStored = false
        for place in places.all where try place.plain.read(IdentityPlaces.item) != nil { wasStored = true }
        if forgetting, isOpen {
            try erase(for: renewed())
        } else {
            let new = renewed()
            try turn.take { () throws(SluiceError) in
                if forgetting { memory.withLock { $0.ids = new } }
                disk.withLock { $0 = Disk() }
                try places.remove()
            }
        }
        return wasStored ? 1 : 0
    }
}
