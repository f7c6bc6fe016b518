/// State that can be kept as a JSON object.
package protocol PersistedValue: Sendable, Equatable {
    /// Returns nil if the object was not made by ``object``, or is incomplete.
    init?(_ object: Properties)
    var object: Properties { get }

    /// Whether a part of the state belongs to the device. This part survives the app's removal if the place permits,
    /// and a backup doesn't move it to another device.
    static var hasDevicePart: Bool { get }
    /// The value with nothing but that part.
    var devicePart: Self { get }
    mutating func takeDevicePart(from other: Self)
}

extension PersistedValue {
    package static var hasDevicePart: Bool { false }
    package var devicePart: Self { self }
    package mutating func takeDevicePart(from other: Self) {}
}

/// A plugin's state: in memory for `track`, and on disk for the next launch.
///
/// You load it once, and it is written only if it has changed. ``Persistence`` describes how errors are treated.
package final class PersistedState<Value: PersistedValue>: Sendable {
    private struct Disk {
        var isLoaded = false
        /// The value that was read or written last; nil if it is unknown.
        var written: Value?
        /// An earlier process ended while it was writing the device's part, and writing it again has failed.
        var isPending = false
        /// The last write has failed, and the failure was reported.
        var hasFailed = false
        /// The file's bytes at the last check for changes of other processes.
        var seen: [UInt8]?
    }

    package struct Memory {
        /// Nil until it has been loaded.
        package var value: Value?
        fileprivate var isShared: Bool
        /// The time of the last check for changes of other processes, in milliseconds.
        private var checkedAt = Int64.min

        fileprivate init(isShared: Bool) { self.isShared = isShared }

        /// Returns true once per second for a state that other processes can change: call ``PersistedState/refresh()``
        /// then. It also returns true if the time goes back.
        package mutating func isDue(at time: Timestamp) -> Bool {
            guard isShared, !(0..<1_000).contains(time.milliseconds &- checkedAt) else { return false }
            checkedAt = time.milliseconds
            return true
        }

        fileprivate mutating func checkAgain() { checkedAt = .min }
    }

    private struct Later {
        var task: Task<Void, Never>?
        /// The task has not read the state yet.
        var isQueued = false
    }

    /// `track` takes this lock, and never waits for the other one.
    package let memory: Locked<Memory>
    // Held while the disk is busy.
    private let disk = Locked(Disk())
    private let later = Locked(Later())
    /// Messages to report when no lock is held.
    private let notes = Locked<[String]>([])
    private let item: String
    /// The places that keep the whole state. The first one counts.
    private let places: [Persistence.Place]
    /// The places that keep only the device's part, which count for that part.
    private let devicePlaces: [Persistence.Place]
    private let context: PluginContext
    private let initial: @Sendable () -> Value
    private let damaged: Value?
    private let isShared: Bool

    /// Creates a state, which is loaded later.
    ///
    /// - Parameters:
    ///   - item: the name under which the state is kept.
    ///   - persistence: where the state is kept.
    ///   - context: gets reports of damage and of failed writes.
    ///   - damaged: the state after damage; nil for the initial one.
    ///   - isShared: whether several processes can change the state. Only ``change(_:)`` and ``erase(for:)`` may write
    ///     it.
    ///   - initial: the state of a first launch.
    package init(
        _ item: String, in persistence: Persistence, _ context: PluginContext, damaged: Value? = nil,
        isShared: Bool = false, initial: @escaping @Sendable () -> Value
    ) {
        self.item = item
        places = persistence.places.filter { !$0.keepsDevicePart }
        devicePlaces = Value.hasDevicePart ? persistence.places.filter(\.keepsDevicePart) : []
        self.context = context
        self.damaged = damaged
        self.initial = initial
        self.isShared = isShared
        var isFileShared = false
        if isShared, case .directory? = places.first { isFileShared = true }
        memory = Locked(Memory(isShared: isFileShared))
    }

    package var isPersistent: Bool { !places.isEmpty }

    /// The state in memory. Nil if it can't be read from disk now.
    package var value: Value? {
        do throws(SluiceError) {
            try load()
        } catch {
            // prepare() and the verbs load too, and can throw.
        }
        return memory.withLock(\.value)
    }

    // MARK: Reading

    /// - Throws: an error of a place that can't be read now; the state is then loaded by a later call.
    package func load() throws(SluiceError) {
        defer { reportNotes() }
        try disk.withLock { disk throws(SluiceError) in try load(&disk) }
    }

    private func load(_ disk: inout Disk) throws(SluiceError) {
        guard !disk.isLoaded else { return }
        let whole = read(places)
        let device = read(devicePlaces)
        var found: Value?
        var stale = whole.stale + device.stale
        var new: Value?
        switch (whole.record, device.record) {
        case (let record?, _) where record.isPending && whole.isOwn:
            // The process ended before it had written the device's part.
            found = record.value
            stale = whole.stale + devicePlaces
        case (let record?, let part?):
            var value = record.value
            value.takeDevicePart(from: part.value)
            if value != record.value { stale = places + device.stale }
            found = value
        case (let record?, nil) where whole.isOwn:
            found = record.value
        case (let record?, nil):
            // A backup of another device.
            if let failure = device.failure ?? whole.unknownDevice { throw failure }
            new = record.value
            new?.takeDevicePart(from: initial())
        case (nil, let part):
            // A place that can't be read may hold the state, so don't start from the beginning.
            if let failure = whole.failure ?? (part == nil ? device.failure : nil) { throw failure }
            new = part?.value ?? (whole.isDamaged ? damaged : nil)
        }
        disk.isLoaded = true
        disk.written = found
        if let found, !repair(stale, with: found) { disk.isPending = whole.record?.isPending ?? false }
        let value = found ?? new ?? initial()
        // A change that came before the state could be read is newer.
        memory.withLock { $0.value = $0.value ?? value }
    }

    // MARK: Changes of other processes

    /// Runs `body` with the state that is on disk now. If it is shared, no other process changes it meanwhile.
    private func withLatest<Result>(
        _ body: (inout Disk) throws(SluiceError) -> Result
    ) throws(SluiceError) -> Result {
        defer { reportNotes() }
        return try withFileLocks { () throws(SluiceError) in
            try disk.withLock { disk throws(SluiceError) in
                if disk.isLoaded, isShared { try readChanges(&disk) }
                try load(&disk)
                return try body(&disk)
            }
        }
    }

    /// Another process may keep the locks for seconds, so no lock of this process is held meanwhile.
    private func withFileLocks<Result>(_ body: () throws(SluiceError) -> Result) throws(SluiceError) -> Result {
        var locks: [OpenFile] = []
        defer { withExtendedLifetime(locks) {} }
        if isShared {
            for place in places { if let lock = try place.lock(item) { locks.append(lock) } }
        }
        return try body()
    }

    /// Reports what happened while locks were held: the host may use the plugin when it gets a diagnostic.
    private func reportNotes() {
        let waiting = notes.withLock { notes in
            defer { notes = [] }
            return notes
        }
        for note in waiting { context.report(note) }
    }

    /// Adopts the changes of other processes. If the file is damaged or has been removed, the next change writes the
    /// state in memory.
    private func readChanges(_ disk: inout Disk) throws(SluiceError) {
        guard var value = memory.withLock(\.value) else { return }
        if let place = places.first, place.isShared {
            let bytes = try place.read(item)
            let record = bytes.flatMap { PersistedRecord<Value>($0, item) }
            if let bytes, record == nil { try keepAside(bytes, in: place) }
            value = record?.value ?? value
            disk.written = record?.value
        }
        for place in devicePlaces where place.isShared {
            guard let bytes = try place.read(item), let record = PersistedRecord<Value>(bytes, item) else { continue }
            if !place.isBound || record.isOwn(place.device) { value.takeDevicePart(from: record.value) }
        }
        memory.withLock { $0.value = value }
    }

    /// Adopts the last change of another process to the file, without waiting for a lock. If the file is damaged or
    /// missing, the state stays as it is.
    package func refresh() {
        let isDone: Void? = disk.withLockIfFree { disk in
            guard disk.isLoaded, let bytes = places.first?.peek(item), bytes != disk.seen else { return }
            disk.seen = bytes
            guard let record = PersistedRecord<Value>(bytes, item) else { return }
            disk.written = record.value
            memory.withLock { memory in
                var value = record.value
                // The places of the device's part count for it.
                if !devicePlaces.isEmpty, let old = memory.value { value.takeDevicePart(from: old) }
                memory.value = value
            }
        }
        if isDone == nil { memory.withLock { $0.checkAgain() } }
    }

    /// The records of several places.
    private struct Reading {
        /// The first one, which counts.
        var record: PersistedRecord<Value>?
        /// Whether the first one was written on this device.
        var isOwn = true
        /// Set if that is unknown, because the device's id is unknown.
        var unknownDevice: SluiceError?
        /// The places that need to be written again.
        var stale: [Persistence.Place] = []
        var isDamaged = false
        var failure: SluiceError?
    }

    private func read(_ places: [Persistence.Place]) -> Reading {
        var reading = Reading()
        for place in places {
            do throws(SluiceError) {
                guard let bytes = try place.read(item) else {
                    reading.stale.append(place)
                    continue
                }
                guard var record = PersistedRecord<Value>(bytes, item) else {
                    try keepAside(bytes, in: place)
                    reading.isDamaged = true
                    reading.stale.append(place)
                    continue
                }
                let isOwn = !Value.hasDevicePart || !place.isBound || record.isOwn(place.device)
                if !isOwn || record.isPending || reading.record.map({ $0.value != record.value }) ?? false {
                    reading.stale.append(place)
                }
                if place.keepsDevicePart {
                    // It may hold more, from an earlier version.
                    if record.value != record.value.devicePart { reading.stale.append(place) }
                    record.value = record.value.devicePart
                }
                guard reading.record == nil, isOwn || !place.keepsDevicePart else { continue }
                reading.record = record
                reading.isOwn = isOwn
                if !isOwn, place.device == nil { reading.unknownDevice = place.unknownDevice(item) }
            } catch {
                reading.failure = reading.failure ?? error
            }
        }
        return reading
    }

    private func keepAside(_ bytes: [UInt8], in place: Persistence.Place) throws(SluiceError) {
        try place.write("\(item).corrupt", bytes)
        notes.withLock {
            $0.append("\(place.name(item)) is damaged. It was kept aside as .corrupt; restore a backup if you have one")
        }
    }

    @discardableResult
    private func repair(_ stale: [Persistence.Place], with value: Value) -> Bool {
        do throws(SluiceError) {
            for place in stale.reversed() { try write(value, to: place) }
            return true
        } catch {
            notes.withLock { $0.append("the state is kept in fewer places than it should be: \(error)") }
            return false
        }
    }

    // MARK: Writing

    /// Changes the state, on disk first. It also writes a state that has only been in memory.
    ///
    /// - Returns: whether the state has changed.
    /// - Throws: an error of the disk or of `body`; the state is then as it was.
    @discardableResult
    package func change(_ body: (inout Value) throws(SluiceError) -> Void) throws(SluiceError) -> Bool {
        try withLatest { disk throws(SluiceError) in
            guard let old = memory.withLock(\.value) else { return false }
            var new = old
            try body(&new)
            try write(new, &disk)
            memory.withLock { $0.value = new }
            return new != old
        }
    }

    /// Replaces the state in memory. Save it afterwards.
    package func set(_ value: Value) {
        memory.withLock { $0.value = value }
    }

    /// Writes the state in memory.
    ///
    /// - Throws: an error of the disk.
    package func save() throws(SluiceError) {
        defer { reportNotes() }
        try disk.withLock { disk throws(SluiceError) in
            try load(&disk)
            // The last of several changes is in memory by now.
            guard let value = memory.withLock(\.value) else { return }
            try write(value, &disk)
        }
    }

    /// Writes the state in memory. Reports a failure, and of several in a row only the first one.
    ///
    /// - Returns: whether the state is on disk.
    @discardableResult
    package func saveOrReport() -> Bool {
        do throws(SluiceError) {
            try save()
            disk.withLock { $0.hasFailed = false }
            return true
        } catch {
            let isFirst = disk.withLock { disk in
                defer { disk.hasFailed = true }
                return !disk.hasFailed
            }
            if isFirst { context.report("the state can't be kept for the next launch: \(error)") }
            return false
        }
    }

    /// Does the same as ``saveOrReport()``, but not on the caller's thread. Use this for state that a crash may lose.
    package func saveLater() {
        guard isPersistent else { return }
        later.withLock { later in
            guard !later.isQueued else { return }
            later.isQueued = true
            later.task = Task.onOwnThread(priority: .utility) { [former = later.task] in
                await former?.value
                // Before the state is read: a later change needs another write.
                self.later.withLock { $0.isQueued = false }
                self.saveOrReport()
            }
        }
    }

    /// Returns when no write is pending. For tests.
    package func waitForWrites() async {
        await later.withLock(\.task)?.value
    }

    /// Replaces the state, and removes damaged bytes that were kept aside. After a crash, the next launch has the old
    /// state or the new one, in all places.
    ///
    /// - Throws: an error of the disk; the state is then as it was.
    package func erase(for value: Value) throws(SluiceError) {
        try withLatest { disk throws(SluiceError) in
            for place in places + devicePlaces { try place.remove("\(item).corrupt") }
            try write(value, &disk)
            memory.withLock { $0.value = value }
        }
    }

    private func write(_ value: Value, _ disk: inout Disk) throws(SluiceError) {
        guard value != disk.written else { return }
        let changesDevicePart =
            !devicePlaces.isEmpty && (disk.isPending || value.devicePart != disk.written?.devicePart)
        // After a failure it is unknown which places have it.
        disk.written = nil
        // The place that counts comes last: a failure before it has changed nothing.
        for place in places.reversed() { try write(value, to: place, isPending: changesDevicePart) }
        if changesDevicePart {
            do throws(SluiceError) {
                for place in devicePlaces.reversed() { try write(value, to: place) }
            } catch {
                // Otherwise the next launch would complete the change.
                if let old = memory.withLock(\.value) { repair(places, with: old) }
                throw error
            }
            disk.isPending = false
            repair(places, with: value)
        }
        disk.written = value
    }

    private func write(
        _ value: Value, to place: Persistence.Place, isPending: Bool = false
    ) throws(SluiceError) {
        var record = PersistedRecord(value: place.keepsDevicePart ? value.devicePart : value, isPending: isPending)
        if Value.hasDevicePart { record.bind(to: place.device) }
        try place.write(item, record.bytes(item))
    }
}
