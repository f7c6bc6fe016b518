#if canImport(Dispatch) && !os(Windows)
    import Dispatch
    public import Sluice
    import SluiceLibC

    /// Reports the start and the end of a server or a tool to pipelines, and shuts them down when the system or the
    /// user ends the process with a signal.
    ///
    /// ```swift
    /// let signals = ProcessSignals(to: pipeline)     // keep it as long as the process runs
    /// ```
    ///
    /// At SIGTERM and SIGINT the pipelines get `willTerminate`, then send until the timeout. After that the process
    /// ends with the same signal. A second signal ends it immediately. The timeout holds even if you block every thread
    /// of the concurrency pool; nothing is sent then.
    ///
    /// While it exists, the signals' default actions are off. A signal that the process ignored before, as under
    /// `nohup`, stays ignored. Create one per process. If you handle these signals yourself, call
    /// `pipeline.signal(.willTerminate)` and `shutdown` instead.
    public final class ProcessSignals: Sendable {
        private let listener: Int

        /// Reports the start, and listens for signals.
        ///
        /// ```swift
        /// let signals = ProcessSignals(to: pipeline, timeout: .seconds(20))    // Kubernetes kills a pod after 30 s
        /// ```
        ///
        /// - Parameters:
        ///   - pipelines: The pipelines of the process. They are not kept alive.
        ///   - numbers: The numbers of the signals.
        ///   - timeout: The longest time for sending, by the continuous clock and by the clock that stops while the
        ///     machine sleeps.
        ///   - end: Called last, once. By default the process ends with the signal.
        public convenience init(
            to pipelines: Pipeline..., on numbers: [Int32] = ProcessSignals.terminations,
            timeout: Duration = .seconds(5),
            then end: @escaping @Sendable (_ number: Int32) -> Void = ProcessSignals.endProcess
        ) {
            self.init(to: pipelines, on: numbers, timeout: timeout, after: ProcessSignals.dispatch, then: end)
        }

        /// Listens with another `timer`, which calls a closure after a time on a thread outside the concurrency pool.
        package init(
            to pipelines: [Pipeline], on numbers: [Int32], timeout: Duration,
            after timer: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void,
            then end: @escaping @Sendable (_ number: Int32) -> Void
        ) {
            let targets = pipelines.map { pipeline in { @Sendable [weak pipeline] in pipeline } }
            let progress = Locked(Progress.running)
            let finish: @Sendable (Int32) -> Void = { number in
                if progress.withLock({ exchange(&$0, with: .over) }) != .over { end(number) }
            }
            listener = SignalHub.shared.add(numbers) { number in
                let isFirst = progress.withLock { progress in
                    defer { if progress == .running { progress = .ending } }
                    return progress == .running
                }
                guard isFirst else { return finish(number) }
                timer(timeout) { finish(number) }
                let pipelines = targets.compactMap { $0() }
                // A queue of its own: the signals' queue must receive the next one, and the pool may be blocked.
                DispatchQueue(label: "sluice.termination").async {
                    for pipeline in pipelines { pipeline.signal(.willTerminate) }
                    Task {
                        await withTaskGroup(of: Void.self) { group in
                            for pipeline in pipelines { group.addTask { await pipeline.shutdown(timeout: timeout) } }
                        }
                        finish(number)
                    }
                }
            }
            for pipeline in pipelines {
                pipeline.signal(.launched(.foreground))
                pipeline.signal(.didBecomeActive)
            }
        }

        deinit {
            SignalHub.shared.remove(listener)
        }

        private enum Progress {
            case running, ending, over
        }

        private static let dispatch: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { time, body in
            // At most a day: Dispatch counts nanoseconds in 64 bits.
            let (seconds, attoseconds) = min(max(.zero, time), .seconds(86_400)).components
            let interval = DispatchTimeInterval.nanoseconds(Int(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
            DispatchQueue(label: "sluice.deadline").asyncAfter(deadline: .now() + interval, execute: body)
        }

        /// Ends the process with a signal, after restoring its default action. Call this if you pass a closure of your
        /// own:
        ///
        /// ```swift
        /// let signals = ProcessSignals(to: pipeline) { number in
        ///     print("ended by signal \(number)")
        ///     ProcessSignals.endProcess(number)
        /// }
        /// ```
        public static let endProcess: @Sendable (_ number: Int32) -> Void = { number in
            signal(number, SIG_DFL)
            // This thread may block the signal.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, number)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            kill(getpid(), number)
            // A signal's default action doesn't end the first process of a container.
            _exit(128 + number)
        }

        /// SIGTERM and SIGINT.
        public static let terminations: [Int32] = [SIGTERM, SIGINT]
    }
#endif
