import Sluice

/// A store that forwards every call to another one, except for those that it implements.
protocol StoreWrapper: Store {
    associatedtype Base: Store
    var base: Base { get }
}

extension StoreWrapper {
    func open(_ observer: StoreObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try base.open(observer, in: environment)
    }
    func append(_ line: EventLine) throws(SluiceError) { try base.append(line) }
    func nextBatch(_ size: BatchSize) throws(SluiceError) -> Batch? {
        try base.nextBatch(size)
    }
    func reject(_ letters: [DeadLetter], in batch: Batch.ID) { base.reject(letters, in: batch) }
    func settle(_ places: [Int], of batch: Batch.ID) { base.settle(places, of: batch) }
    func settle(_ batch: Batch.ID) throws(SluiceError) { try base.settle(batch) }
    var backlog: Backlog { base.backlog }
    func deadLetters() throws(SluiceError) -> [DeadLetter] { try base.deadLetters() }
    func replayDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { try base.replayDeadLetters(ids) }
    func discardDeadLetters(_ ids: Set<DeadLetter.ID>) throws(SluiceError) -> Int { try base.discardDeadLetters(ids) }
    func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try base.erase(where: isMatch)
    }
    func synchronize(while mayContinue: () -> Bool) throws(SluiceError) { try base.synchronize(while: mayContinue) }
    func close() { base.close() }
}
