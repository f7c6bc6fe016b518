package import SluiceEvents

extension PersistedState {
    /// Returns when everything that was changed before this call is stored, or its failure is reported. Call this in your
    /// plugin's `Processor.finish()`, as in the example of ``PersistedState``. A write that failed before is tried once more.
    public func finish() async {
        var next = memory.withLock { memory in
            memory.isFinished = true
            if isPersistent, memory.saved != memory.changes { startWriter(&memory) }
            return memory.writer
        }
        while let writer = next {
            await writer.value
            next = memory.withLock(\.writer)
        }
    }

    func startWriter(_ memory: inout Memory) {
        guard memory.writer == nil else { return }
        memory.writer = Task.onOwnThread(priority: .utility) {
            var changes = 0
            repeat {
                // Its own number: another thread can be writing a later change, and finish() waits for this task only.
                changes = self.memory.withLock(\.changes)
                self.reportFailure(self.write)
            } while self.memory.withLock { memory in
                if memory.changes == changes { memory.writer = nil }
                return memory.writer != nil
            }
        }
    }

    /// - Returns: The result of `body`; false after a failure.
    @discardableResult
    func reportFailure(_ body: () throws(SluiceError) -> Bool) -> Bool {
        do throws(SluiceError) {
            return try body()
        } catch {
            let isRepeated = memory.withLock { exchange(&$0.hasFailed, with: true) }
            if !isRepeated { report("the state can't be kept for the next launch: \(error)") }
            return false
        }
    }

    /// - Returns: False if the gate is closed.
    func write() throws(SluiceError) -> Bool {
        guard isPersistent else { return true }
        try requireFree()
        try loadOnce()
        return try turn.take { () throws(SluiceError) in
            // If the gate was opened since, the stored value is not known yet. Who opens it calls `keep` afterwards.
            guard isOpen, memory.withLock(\.isLoaded) else { return false }
            // The last of several changes is in memory by now. After a failure it is unknown which places have it.
            let (value, changes, written) = memory.withLock { memory in
                defer { memory.isEverywhere = false }
                return (memory.value, memory.changes, memory.isEverywhere ? memory.written : nil)
            }
            let bytes = places.bytes(of: value)
            if bytes != written { try places.write(bytes) }
            memory.withLock { memory in
                (memory.written, memory.isEverywhere, memory.saved, memory.hasFailed) = (bytes, true, changes, false)
            }
            return true
        }
    }
}

// MARK: Consent and erasure

extension PersistedState: KeptState {
    package var isWriting: Bool { memory.withLock { $0.writer != nil } }

    package func keep() {
        loadIfPossible()
        if memory.withLock({ $0.saved != $0.changes }) { reportFailure(write) }
    }

    package func remove(forgetting: Bool) throws(SluiceError) -> Int {
        try requireFree()
        return try turn.take { () throws(SluiceError) in
            memory.withLock { memory in
                memory.written = nil
                if forgetting { (memory.value, memory.isLoaded) = (initial, true) }
                // Otherwise the value must be stored when the gate is opened.
                memory.saved = forgetting ? memory.changes : -1
            }
            return try places.remove() ? 1 : 0
        }
    }
}
