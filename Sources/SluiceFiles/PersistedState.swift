package import Sluice

/// State that can be kept as a JSON object.
package protocol PersistedValue: Sendable, Equatable {
    /// Returns nil if the object was not made by ``object``, or is incomplete.
    init?(_ object: Properties)
    var object: Properties { get }
}

/// A plugin's state: in memory for `track`, and on disk for the next launch.
///
/// You load it once, and it is written only if it has changed. ``Sluice/Persistence`` describes how errors are treated.
package final class PersistedState<Value: PersistedValue>: Sendable {
    private struct Disk {
        var isLoaded = false
        /// The value that was read or written last; nil if it is unknown.
        var written: Value?
        /// The last write failed, and the failure has been reported.
        var hasFailed = false
    }

    private struct Later {
        var task: Task<Void, Never>?
        /// The task has not read the state yet.
        var isQueued = false
    }

    /// Nil until it has been loaded. `track` takes this lock only, and never waits for the disk.
    package let memory = Locked<Value?>(nil)
    // Held while the disk is busy.
    private let disk = Locked(Disk())
    private let later = Locked(Later())
    private let item: String
    private let places: [Persistence.Place]
    private let context: PluginContext
    private let initial: @Sendable () -> Value
    private let damaged: Value?

    /// Creates a state, which is loaded later.
    ///
    /// - Parameters:
    ///   - item: the name under which the state is kept.
    ///   - persistence: where the state is kept.
    ///   - context: gets reports of damage and of failed writes.
    ///   - damaged: the state after damage; nil for the initial one.
    ///   - initial: the state of a first launch.
    package init(
        _ item: String, in persistence: Persistence, _ context: PluginContext, damaged: Value? = nil,
        initial: @escaping @Sendable () -> Value
    ) {
        self.item = item
        places = persistence.places
        self.context = context
        self.damaged = damaged
        self.initial = initial
    }

    package var isPersistent: Bool { !places.isEmpty }

    /// The state in memory. Nil if it can't be read from disk now.
    package var value: Value? {
        do throws(SluiceError) {
            try load()
        } catch {
            // prepare() and the verbs load too, and can throw.
        }
        return memory.withLock(\.self)
    }

    // MARK: Reading

    /// - Throws: an error of a place that can't be read now; the state is then loaded by a later call.
    package func load() throws(SluiceError) {
        try disk.withLock { disk throws(SluiceError) in try load(&disk) }
    }

    private func load(_ disk: inout Disk) throws(SluiceError) {
        guard !disk.isLoaded else { return }
        var found: Value?
        var stale: [Persistence.Place] = []
        var isDamaged = false
        var failure: SluiceError?
        for place in places {
            do throws(SluiceError) {
                guard let bytes = try place.read(item) else {
                    stale.append(place)
                    continue
                }
                if let value = decoded(bytes) {
                    if found != nil, value != found { stale.append(place) }
                    found = found ?? value
                } else {
                    try place.write("\(item)", bytes, isAside: true)
                    context.report(
                        "\(place.name(item)) is damaged. It was kept aside as .corrupt; restore a backup if you have one"
                    )
                    isDamaged = true
                    stale.append(place)
                }
            } catch {
                failure = failure ?? error
            }
        }
        // Another place may still hold the state, so an unreadable one must not start from the beginning.
        if found == nil, let failure { throw failure }
        disk.isLoaded = true
        disk.written = found
        if let found, !stale.isEmpty {
            do throws(SluiceError) {
                for place in stale.reversed() { try place.write(item, encoded(found)) }
            } catch {
                context.report("the state is kept in fewer places than it should be: \(error)")
            }
        }
        let value = found ?? (isDamaged ? damaged : nil) ?? initial()
        // A change that came before the state could be read is newer.
        memory.withLock { $0 = $0 ?? value }
    }

    // MARK: Writing

    /// Changes the state, on disk first. It also writes a state that has only been in memory.
    ///
    /// - Returns: whether the state is another one now.
    /// - Throws: an error of the disk or of `body`; the state is then as it was.
    @discardableResult
    package func change(_ body: (inout Value) throws(SluiceError) -> Void) throws(SluiceError) -> Bool {
        try disk.withLock { disk throws(SluiceError) in
            try load(&disk)
            guard let old = memory.withLock(\.self) else { return false }
            var new = old
            try body(&new)
            try write(new, &disk)
            memory.withLock { $0 = new }
            return new != old
        }
    }

    /// Replaces the state in memory. Save it afterwards.
    package func set(_ value: Value) {
        memory.withLock { $0 = value }
    }

    /// Writes the state in memory.
    ///
    /// - Throws: an error of the disk.
    package func save() throws(SluiceError) {
        try disk.withLock { disk throws(SluiceError) in
            try load(&disk)
            // Of several changes the last one is in memory by now.
            guard let value = memory.withLock(\.self) else { return }
            try write(value, &disk)
        }
    }

    /// Writes the state in memory, and reports a failure; of several failures in a row, the first one.
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

    /// As ``saveOrReport()``, but not on the caller's thread: for state that a crash may lose.
    package func saveLater() {
        guard isPersistent else { return }
        later.withLock { later in
            guard !later.isQueued else { return }
            later.isQueued = true
            later.task = Task.detached(priority: .utility) { [former = later.task] in
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

    private func write(_ value: Value, _ disk: inout Disk) throws(SluiceError) {
        guard value != disk.written else { return }
        // After a failure it is unknown which places have it.
        disk.written = nil
        // The place that counts comes last: a failure before it has changed nothing.
        for place in places.reversed() { try place.write(item, encoded(value)) }
        disk.written = value
    }

    // MARK: Bytes

    /// `{"item":{…},"checksum":"…"}`, because a damaged value can still be a value.
    private func encoded(_ value: Value) -> [UInt8] {
        let object = value.object
        var writer = JSONWriter()
        writer.object([item: .object(object), "checksum": .string(checksum(of: object))])
        return writer.bytes
    }

    private func decoded(_ bytes: [UInt8]) -> Value? {
        do throws(SluiceError) {
            guard case .object(let record) = try JSONReader.value(of: bytes), case .object(let object) = record[item],
                record["checksum"] == .string(checksum(of: object))
            else { return nil }
            return Value(object)
        } catch {
            return nil
        }
    }

    /// FNV-1a with 64 bits, in hexadecimal: against accidents, not against forgers.
    private func checksum(of object: Properties) -> String {
        var writer = JSONWriter()
        writer.object(object)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in writer.bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}

extension Persistence.Place {
    fileprivate func name(_ item: String) -> String {
        switch self {
        case .directory(let directory): "\(directory)/\(item).json"
        case .custom(let name, _, _): "\(item) in \(name)"
        }
    }

    fileprivate func read(_ item: String) throws(SluiceError) -> [UInt8]? {
        switch self {
        case .directory(let directory): try StateFile("\(item).json", in: directory).read()
        case .custom(_, let read, _): try attempt("read", item) { try read(item) }
        }
    }

    fileprivate func write(_ item: String, _ bytes: [UInt8], isAside: Bool = false) throws(SluiceError) {
        let suffix = isAside ? ".corrupt" : ""
        switch self {
        case .directory(let directory): try StateFile("\(item).json\(suffix)", in: directory).write(bytes)
        case .custom(_, _, let write): try attempt("written", item) { try write("\(item)\(suffix)", bytes) }
        }
    }

    private func attempt<Result>(_ verb: String, _ item: String, _ body: () throws -> Result) throws(SluiceError)
        -> Result
    {
        do {
            return try body()
        } catch {
            if let error = error as? SluiceError { throw error }
            throw SluiceError(
                .storageUnavailable, "\(name(item)) can't be \(verb): try again, or choose another place", cause: error)
        }
    }
}
