#if canImport(Dispatch) && !os(Windows)
    import Dispatch
    public import Sluice

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Bionic)
        import Bionic
    #endif

    /// Reports to pipelines what a server or a tool goes through: its start at once, and its end when the system or the
    /// user asks for it by a signal; and shuts them down then.
    ///
    /// ```swift
    /// let signals = ProcessSignals(to: pipeline)     // hold it for as long as the process is to live
    /// ```
    ///
    /// At SIGTERM and SIGINT the pipelines get `willTerminate`, then send what they can until the deadline. After that
    /// the process ends as if nobody had listened: by the same signal. A second signal ends it at once. The deadline holds
    /// even where the host blocks every thread of the concurrency pool: then nothing is sent, and the process ends by it.
    ///
    /// While it lives, the signals' default actions are off; one that the process ignored before, as under `nohup`, stays
    /// ignored. Make one for each process, and none where something else handles these signals: call
    /// `pipeline.signal(.willTerminate)` and `shutdown` from there.
    public final class ProcessSignals: Sendable {
        private let listener: Int

        /// - Parameters:
        ///   - pipelines: those of the process; they are not kept alive.
        ///   - numbers: of the signals.
        ///   - deadline: the longest time that sending may take: by the continuous clock, and by the clock that stops while
        ///     the machine sleeps.
        ///   - end: what is done last, once; by default the process ends by the signal.
        public convenience init(
            to pipelines: Pipeline..., on numbers: [Int32] = ProcessSignals.terminations,
            deadline: Duration = .seconds(5),
            then end: @escaping @Sendable (_ number: Int32) -> Void = ProcessSignals.endProcess
        ) {
            self.init(to: pipelines, on: numbers, deadline: deadline, after: ProcessSignals.dispatch, then: end)
        }

        /// - Parameter timer: calls the closure after a time, on a thread that is not of the concurrency pool.
        package init(
            to pipelines: [Pipeline], on numbers: [Int32], deadline: Duration,
            after timer: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void,
            then end: @escaping @Sendable (_ number: Int32) -> Void
        ) {
            let targets = pipelines.map { WeakPipeline($0) }
            let progress = Locked(Progress.running)
            let finish: @Sendable (Int32) -> Void = { number in
                let isFirst = progress.withLock { progress in
                    defer { progress = .over }
                    return progress != .over
                }
                if isFirst { end(number) }
            }
            listener = SignalHub.shared.add(numbers) { number in
                let isFirst = progress.withLock { progress in
                    defer { if progress == .running { progress = .ending } }
                    return progress == .running
                }
                guard isFirst else { return finish(number) }
                timer(deadline) { finish(number) }
                let pipelines = targets.compactMap(\.pipeline)
                // A queue of its own: the signals' has to hear of the next one, and the pool may be blocked.
                DispatchQueue(label: "sluice.termination").async {
                    for pipeline in pipelines { pipeline.signal(.willTerminate) }
                    Task {
                        await ProcessSignals.shutDown(pipelines, deadline)
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
            // A day stands for all that is longer: Dispatch counts nanoseconds in 64 bits.
            let (seconds, attoseconds) = min(max(.zero, time), .seconds(86_400)).components
            let interval = DispatchTimeInterval.nanoseconds(Int(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
            DispatchQueue(label: "sluice.deadline").asyncAfter(deadline: .now() + interval, execute: body)
        }

        private static func shutDown(_ pipelines: [Pipeline], _ deadline: Duration) async {
            await withTaskGroup(of: Void.self) { group in
                for pipeline in pipelines { group.addTask { await pipeline.shutdown(deadline: deadline) } }
            }
        }

        /// Ends the process by a signal, whose default action is restored.
        public static let endProcess: @Sendable (_ number: Int32) -> Void = { number in
            signal(number, SIG_DFL)
            // The thread that this runs on may have the signal blocked.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, number)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            kill(getpid(), number)
            // The first process of a container is not ended by a signal's default action.
            _exit(128 + number)
        }

        /// SIGTERM and SIGINT.
        public static let terminations: [Int32] = [SIGTERM, SIGINT]
    }

    private struct WeakPipeline: Sendable {
        // Set once, before anyone else sees it.
        nonisolated(unsafe) private(set) weak var pipeline: Pipeline?

        init(_ pipeline: Pipeline) {
            self.pipeline = pipeline
        }
    }
#endif
