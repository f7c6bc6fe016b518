#if canImport(Dispatch) && !os(Windows)
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
    /// the process ends as if nobody had listened: by the same signal. A second signal ends it at once.
    ///
    /// While it lives, the signals' default actions are off. Make one for each process, and none where something else
    /// handles these signals: call `pipeline.signal(.willTerminate)` and `shutdown` from there.
    public final class ProcessSignals: Sendable {
        private let listener: Int

        /// - Parameters:
        ///   - pipelines: those of the process; they are not kept alive.
        ///   - numbers: of the signals.
        ///   - deadline: the longest time that sending may take, by the continuous clock.
        ///   - end: what is done last; by default the process ends by the signal.
        public init(
            to pipelines: Pipeline..., on numbers: [Int32] = ProcessSignals.terminations,
            deadline: Duration = .seconds(5),
            then end: @escaping @Sendable (_ number: Int32) -> Void = ProcessSignals.endProcess
        ) {
            let targets = pipelines.map { WeakPipeline($0) }
            let isEnding = Locked(false)
            listener = SignalHub.shared.add(numbers) { number in
                let isSecond = isEnding.withLock { isEnding in
                    defer { isEnding = true }
                    return isEnding
                }
                if isSecond { return end(number) }
                Task {
                    await ProcessSignals.shutDown(targets.compactMap(\.pipeline), deadline)
                    end(number)
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

        private static func shutDown(_ pipelines: [Pipeline], _ deadline: Duration) async {
            for pipeline in pipelines { pipeline.signal(.willTerminate) }
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
