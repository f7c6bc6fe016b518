import Sluice
import SluiceMemory

/// A memory store that checks whether it is used as its protocol promises. A test can run code during a call.
final class WatchedStore: StoreWrapper {
    private struct State {
        var isOpen = false
        var isClosed = false
        var callsOfLoop = 0
        var offences: [String] = []
    }

    let base = MemoryStore(capacity: 1 << 30)
    private let state = Locked(State())
    private let openError: SluiceError?
    private let duringNextBatch: @Sendable () -> Void
    private let duringSettle: @Sendable () -> Void

    init(
        openError: SluiceError? = nil, duringNextBatch: @escaping @Sendable () -> Void = {},
        duringSettle: @escaping @Sendable () -> Void = {}
    ) {
        self.openError = openError
        self.duringNextBatch = duringNextBatch
        self.duringSettle = duringSettle
    }

    var isOpen: Bool { state.withLock { $0.isOpen && !$0.isClosed } }
    var isClosed: Bool { state.withLock(\.isClosed) }
    /// Calls that the protocol rules out.
    var offences: [String] { state.withLock(\.offences) }

    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        if let openError { throw openError }
        try base.open(observer, in: environment)
        state.withLock { $0.isOpen = true }
    }

    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        enter("nextBatch")
        defer { leave("nextBatch") }
        duringNextBatch()
        return try base.nextBatch(size)
    }

    func settle(_ batch: Batch.ID) throws(SluiceError) {
        enter("settle")
        defer { leave("settle") }
        duringSettle()
        try base.settle(batch)
    }

    func synchronize(while mayContinue: () -> Bool) throws(SluiceError) {
        state.withLock { state in
            if !state.isOpen || state.isClosed { state.offences.append("synchronize on a store that is not open") }
        }
    }

    func close() {
        state.withLock { state in
            if state.callsOfLoop > 0 { state.offences.append("close during a call of the loop") }
            if !state.isOpen { state.offences.append("close of a store that is not open") }
            if state.isClosed { state.offences.append("close twice") }
            state.isClosed = true
        }
        base.close()
    }

    private func enter(_ call: String) {
        state.withLock { state in
            if !state.isOpen || state.isClosed { state.offences.append("\(call) on a store that is not open") }
            state.callsOfLoop += 1
            if state.callsOfLoop > 1 { state.offences.append("\(call) during another call of the loop") }
        }
    }

    private func leave(_ call: String) {
        state.withLock { state in
            if state.isClosed { state.offences.append("closed during \(call)") }
            state.callsOfLoop -= 1
        }
    }
}
