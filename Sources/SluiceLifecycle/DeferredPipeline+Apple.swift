#if canImport(UIKit) && !os(watchOS)
    public import Foundation
    public import Sluice
    import UIKit

    /// Keeps events in memory until the device is unlocked for the first time after a restart, and builds your pipeline
    /// then.
    ///
    /// The system can launch an app before that, for example for a call. Files and the keychain can't be read yet, so a
    /// pipeline with a store on disk or with an identity can't be built. If this can happen to your app, build the pipeline
    /// with this object:
    ///
    /// ```swift
    /// let analytics = try DeferredPipeline {
    ///     let pipeline = try Pipeline {
    ///         Identity(persistedIn: .device())
    ///         JSONLStore(at: queueDirectory)
    ///         HTTPTransport(to: collector)
    ///     }
    ///     signals = AppSignals(to: pipeline)
    ///     return pipeline
    /// }
    /// analytics.track("Call", ["kind": "video"])
    /// ```
    ///
    /// Nearly always the pipeline is built immediately, and this object passes each event to it. Otherwise it keeps the
    /// events with their ids and times. After the unlock it tracks them in the pipeline, in their order and before later
    /// ones. They pass the processors then, and get the user and the consent that the device has stored. If the process
    /// ends before the unlock, the events are lost, because nothing can be written.
    public final class DeferredPipeline: EventTracking {
        private struct State {
            var pipeline: Pipeline?
            /// Whether events go directly to the pipeline, because those before them have been passed to it.
            var isReady = false
            var ids = EventIDGenerator()
            var events: [Event] = []
            var dropped = 0
            var observation: Observation?
        }

        private let state = Locked(State())
        private let capacity: Int
        private let environment: PipelineEnvironment
        private let onFailure: @MainActor @Sendable (any Error) -> Void
        private let build: @MainActor @Sendable () throws -> Pipeline

        /// Builds the pipeline, now or after the unlock.
        ///
        /// - Parameters:
        ///   - capacity: The most events to keep in memory: 1,000 by default. Later ones are dropped, and the pipeline's
        ///     ledger counts them as ``DropReason/storeFull``.
        ///   - environment: The clock and the random numbers for the times and ids of these events.
        ///   - center: The center where the app's notifications are posted.
        ///   - onFailure: Called if the pipeline can't be built after an unlock either. The next unlock tries again.
        ///   - build: Builds the pipeline. It can be called several times, so create the store and the transport in it.
        /// - Throws: The error of `build` if it fails although the device is unlocked.
        @available(iOSApplicationExtension, unavailable)
        @available(tvOSApplicationExtension, unavailable)
        @available(visionOSApplicationExtension, unavailable)
        @MainActor public init(
            capacity: Int = 1_000,
            environment: PipelineEnvironment = PipelineEnvironment(),
            from center: NotificationCenter = .default,
            onFailure: @escaping @MainActor @Sendable (any Error) -> Void = { _ in },
            _ build: @escaping @MainActor @Sendable () throws -> Pipeline
        ) throws {
            self.capacity = capacity
            self.environment = environment
            self.onFailure = onFailure
            self.build = build
            do {
                use(try build())
            } catch {
                // A locked device was perhaps unlocked before, and the error has another cause. The next unlock reports it.
                guard !UIApplication.shared.isProtectedDataAvailable else { throw error }
                let unlock = UIApplication.protectedDataDidBecomeAvailableNotification
                let observation = Observation(of: unlock, center) { [weak self] in
                    MainActor.assumeIsolated { self?.retry() }
                }
                state.withLock { $0.observation = observation }
            }
        }

        /// The pipeline; nil until it is built.
        public var pipeline: Pipeline? { state.withLock { $0.pipeline } }

        /// Tracks an event in the pipeline, or keeps it until there is one. See ``Pipeline/track(_:_:priority:id:configure:)``.
        ///
        /// - Parameters:
        ///   - name: The event's name.
        ///   - properties: The event's properties.
        ///   - priority: The event's priority.
        ///   - id: The event's id; nil for a new one.
        ///   - configure: Changes the event before the first processor sees it.
        /// - Returns: The event's id.
        @discardableResult
        public func track(
            _ name: String, _ properties: Properties = [:], priority: Event.Priority = .normal, id: EventID? = nil,
            configure: (inout Event) -> Void = { _ in }
        ) -> EventID {
            if let pipeline = readyPipeline {
                return pipeline.track(name, properties, priority: priority, id: id, configure: configure)
            }
            let time = environment.time.wallTime()
            let id = id ?? state.withLock { $0.ids.next(at: time, random: environment.random) }
            var event = Event(id: id, name: name, time: time, priority: priority, properties: properties)
            configure(&event)
            let pipeline = state.withLock { state -> Pipeline? in
                if state.isReady { return state.pipeline }
                if state.events.count < capacity { state.events.append(event) } else { state.dropped += 1 }
                return nil
            }
            pipeline?.track(event)
            return event.id
        }

        /// Stores the events that `body` tracks together if there is a pipeline. See ``Pipeline/trackTogether(_:)``.
        ///
        /// - Parameter body: Tracks the events on the thread that it is called on.
        /// - Returns: The result of `body`.
        /// - Throws: The error of `body`.
        @discardableResult
        public func trackTogether<Result, Failure: Error>(
            _ body: () throws(Failure) -> Result
        ) throws(Failure) -> Result {
            guard let pipeline = readyPipeline else { return try body() }
            return try pipeline.trackTogether(body)
        }

        private var readyPipeline: Pipeline? { state.withLock { $0.isReady ? $0.pipeline : nil } }

        @MainActor private func retry() {
            do {
                use(try build())
            } catch {
                onFailure(error)
            }
        }

        /// Passes the events to the pipeline until none is left.
        private func use(_ pipeline: Pipeline) {
            state.withLock { state in
                state.pipeline = pipeline
                state.observation = nil
            }
            while true {
                let (events, dropped) = state.withLock { state in
                    defer { (state.events, state.dropped) = ([], 0) }
                    state.isReady = state.events.isEmpty
                    return (state.events, state.dropped)
                }
                if dropped > 0 { pipeline.drop(dropped, .storeFull) }
                if events.isEmpty { return }
                pipeline.trackTogether {
                    for event in events { pipeline.track(event) }
                }
            }
        }
    }

    extension Pipeline {
        /// Tracks an event that was tracked before there was a pipeline.
        fileprivate func track(_ event: Event) {
            track(event.name, priority: event.priority, id: event.id) { $0 = event }
        }
    }
#endif
