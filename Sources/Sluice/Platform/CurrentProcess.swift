#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Bionic)
    import Bionic
#endif

/// What the process knows of itself without asking the system again, and what the child of a `fork` must not inherit.
///
/// To ask for the process's number or for eight random bytes is a system call each, which are dear beside the one
/// `write` of an event. So the number is remembered and random bytes are drawn in stock, until a `fork` makes both wrong.
package final class CurrentProcess: Sendable {
    /// Another one in the child of a `fork`.
    package let id: Int32
    private let stock = Locked(RandomStock())

    private init() {
        id = getpid()
    }

    // nonisolated(unsafe): after its initialisation it is written by nobody but the child of a fork, which has a single
    // thread then.
    nonisolated(unsafe) private static var instance: CurrentProcess = {
        pthread_atfork(nil, nil) {
            // A new object, not a change to the old one, whose lock another thread of the parent may have held.
            CurrentProcess.instance = CurrentProcess()
        }
        return CurrentProcess()
    }()

    package static var current: CurrentProcess { instance }

    /// 64 bits of the system's generator for secrets, each handed out once.
    func random() -> UInt64 {
        stock.withLock { $0.next() }
    }
}

/// Random bytes that were drawn together, as many as one call of the system gives at most.
private struct RandomStock {
    private static let capacity = 32
    private var words: [UInt64] = []

    mutating func next() -> UInt64 {
        if let word = words.popLast() { return word }
        draw()
        return words.popLast() ?? RandomStock.single()
    }

    private static func single() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }

    /// Leaves the stock empty where the system keeps one itself, which is then cheap to ask each time.
    private mutating func draw() {
        #if canImport(Glibc) || canImport(Musl)
            words = [UInt64](unsafeUninitializedCapacity: RandomStock.capacity) { buffer, count in
                let bytes = UnsafeMutableRawBufferPointer(buffer)
                count = getentropy(bytes.baseAddress, bytes.count) == 0 ? buffer.count : 0
            }
        #endif
    }
}
