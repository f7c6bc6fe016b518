#if canImport(Dispatch) && !os(Windows)
    import Dispatch
    import Sluice
    import SluiceLibC

    // nonisolated(unsafe): both are written once, before the first handler is set; a handler can take no lock.
    nonisolated(unsafe) private var pipeEnd: Int32 = -1
    nonisolated(unsafe) private var owner: pid_t = 0

    /// Turns the process's signals into calls on a queue.
    ///
    /// A handler must do almost nothing, so it writes the signal's number into a pipe, which the queue reads.
    /// Dispatch's own source for signals is not used: on Linux it misses signals that the main thread gets while it
    /// waits.
    final class SignalHub: Sendable {
        typealias Listener = @Sendable (_ number: Int32) -> Void

        private struct State {
            var listeners: [Int: (numbers: [Int32], call: Listener)] = [:]
            var lastID = 0
            /// The signals that the process ignored before.
            var ignored: Set<Int32> = []
        }

        static let shared = SignalHub()

        private let state = Locked(State())
        // nonisolated(unsafe): set here, and only kept alive after that.
        nonisolated(unsafe) private let source: (any DispatchSourceRead)?

        private init() {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else {
                source = nil
                return
            }
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
            pipeEnd = ends[1]
            owner = getpid()
            let readEnd = ends[0]
            let source = DispatchSource.makeReadSource(
                fileDescriptor: readEnd, queue: DispatchQueue(label: "sluice.signals"))
            self.source = source
            source.setEventHandler { [weak self] in
                var byte: UInt8 = 0
                while read(readEnd, &byte, 1) == 1 { self?.received(Int32(byte)) }
            }
            source.resume()
        }

        /// - Returns: the number for ``remove(_:)``.
        func add(_ numbers: [Int32], _ call: @escaping Listener) -> Int {
            let id = state.withLock { state in
                state.lastID += 1
                state.listeners[state.lastID] = (numbers, call)
                return state.lastID
            }
            for number in numbers {
                let former = signal(number) { number in
                    // The child of a fork has the parent's pipe, and no queue: it ends as without a listener.
                    if getpid() != owner {
                        signal(number, SIG_DFL)
                        kill(getpid(), number)
                        return
                    }
                    // The code that was interrupted must not see another error than its own.
                    let code = errno
                    var byte = UInt8(truncatingIfNeeded: number)
                    _ = write(pipeEnd, &byte, 1)
                    errno = code
                }
                // A custom of Unix: nohup and a shell's & start the process that way.
                if unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                    signal(number, SIG_IGN)
                    state.withLock { _ = $0.ignored.insert(number) }
                }
            }
            return id
        }

        /// Signals without a listener get their default action back, and ignored ones stay ignored.
        func remove(_ id: Int) {
            let free = state.withLock { state in
                let numbers = state.listeners.removeValue(forKey: id)?.numbers ?? []
                let free = numbers.filter { number in
                    !state.listeners.values.contains { $0.numbers.contains(number) }
                }
                return free.filter { state.ignored.remove($0) == nil }
            }
            for number in free { signal(number, SIG_DFL) }
        }

        private func received(_ number: Int32) {
            let calls = state.withLock { state in
                state.listeners.values.filter { $0.numbers.contains(number) }.map(\.call)
            }
            for call in calls { call(number) }
        }
    }
#endif
