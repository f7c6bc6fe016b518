#if canImport(UIKit) && !os(watchOS)
    public import Foundation
    public import Sluice
    import UIKit

    /// Builds your pipeline as soon as the device has been unlocked after its restart, and keeps earlier events in
    /// memory.
    ///
    /// The system can launch an app before the first unlock, for example for a call. Files, user defaults and the
    /// keychain can't be read then: a store on disk can't be opened, and the user and the consent are unknown. If this
    /// can happen to your app, build the pipeline with this object:
    ///
    /// ```swift
    /// let analytics = try DeferredPipeline(onFailure: { error in logger.error("\(error)") }) {
    ///     let identity = Identity(persistedIn: .device())
    ///     let pipeline = try Pipeline {
    ///         identity
    ///         JSONLStore(at: queueDirectory)
    ///         HTTPTransport(to: collector)
    ///     }
    ///     (self.identity, signals) = (identity, AppSignals(to: pipeline))
    ///     return pipeline
    /// }
    /// analytics.track("Call", ["kind": "video"])
    /// ```
    ///
    /// In most launches, the pipeline is built immediately, and this object only passes events to it. Before the first
    /// unlock it keeps the events with their ids and times. After the unlock it builds the pipeline and tracks them
    /// there, in their order. Plugins process them at that time, so a rate limit is that of the unlock, and events of
    /// plugins, such as `$AppInstall`, can come first. They have no session, because none had begun. If the process ends
    /// before the unlock, the kept events are lost, because nothing can be written.
    @available(iOSApplicationExtension, unavailable)
    @available(tvOSApplicationExtension, unavailable)
    @available(visionOSApplicationExtension, unavailable)
    public final class DeferredPipeline: EventTracking {
        private enum Phase {
            case waiting
            /// A thread passes the events that were kept to the pipeline.
            case draining(Pipeline, by: ObjectIdentifier)
            case ready(Pipeline)
        }

        private struct State {
            var phase = Phase.waiting
            var ids = EventIDGenerator()
            var events: [Event] = []
            var bytes = 0
            var dropped = 0
            /// Whether a check for an unlock is scheduled.
            var isChecking = false

            /// The pipeline, if an event of this thread goes directly to it.
            var destination: Pipeline? {
                switch phase {
                case .waiting: nil
                // A closure of the host that is called for each of these events may track another one.
                case .draining(let pipeline, let thread): ObjectIdentifier(Thread.current) == thread ? pipeline : nil
                case .ready(let pipeline): pipeline
                }
            }
        }

        /// Other threads can track while events are drained. After this many rounds, they no longer wait for their
        /// turn.
        private static let maximumRounds = 10

        private let state = Locked(State())
        private let maximumBytes: Int
        private let environment: PipelineEnvironment
        @MainActor private var build: (@MainActor () throws -> Pipeline)?
        @MainActor private var onFailure: (@MainActor (any Error) -> Void)?
        @MainActor private var hasFailed = false
        @MainActor private var observations: [Observation] = []

        /// Builds the pipeline, now or after the first unlock.
        ///
        /// - Parameters:
        ///   - maximumBytes: The size of the events, as JSON, to keep in memory. Further events are dropped, and the
        ///     pipeline's ledger counts them as ``Sluice/DropReason/beforeUnlock``.
        ///   - environment: The clock and the random numbers for the times and ids of these events.
        ///   - center: The center where the app's notifications are posted.
        ///   - onFailure: Called with the error if `build` throws after the unlock. The events stay, and `build` is
        ///     called the next time that the device is unlocked or the app becomes active.
        ///   - build: Builds the pipeline. Create everything in it: the plugins, the store and the transport.
        /// - Throws: The error of `build` if the device was unlocked before, and
        ///   ``Sluice/SluiceError/Code/invalidArgument`` if `maximumBytes` is not positive.
        @MainActor public init(
            holdingUpTo maximumBytes: Int = 1_048_576,
            environment: PipelineEnvironment = PipelineEnvironment(),
            from center: NotificationCenter = .default,
            onFailure: @escaping @MainActor (any Error) -> Void,
            _ build: @escaping @MainActor () throws -> Pipeline
        ) throws {
            try SluiceError.require(maximumBytes > 0, "maximumBytes must be 1 or more, and is \(maximumBytes)")
            self.maximumBytes = maximumBytes
            self.environment = environment
            if DeferredPipeline.wasUnlocked {
                let pipeline = try build()
                state.withLock { $0.phase = .ready(pipeline) }
            } else {
                (self.build, self.onFailure) = (build, onFailure)
                let changes = [
                    UIApplication.protectedDataDidBecomeAvailableNotification,
                    UIApplication.didBecomeActiveNotification,
                ]
                observations = changes.map { name in
                    Observation(of: name, center) { [weak self] in MainActor.assumeIsolated { self?.start() } }
                }
            }
        }

        // A locked device has no protected data, also after its first unlock. Only before that, the vendor's id is
        // unknown.
        @MainActor private static var wasUnlocked: Bool {
            UIApplication.shared.isProtectedDataAvailable || UIDevice.current.identifierForVendor != nil
        }

        /// The pipeline; nil until it is built and has the events that were kept.
        ///
        /// ```swift
        /// await analytics.pipeline?.flush()
        /// ```
        public var pipeline: Pipeline? {
            state.withLock { state in
                if case .ready(let pipeline) = state.phase { pipeline } else { nil }
            }
        }

        /// Tracks an event in the pipeline, or keeps it until there is one. See
        /// ``Sluice/Pipeline/track(_:_:priority:id:configure:)``.
        ///
        /// ```swift
        /// analytics.track("CallEnded", ["seconds": 42])
        /// ```
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
            if let pipeline = state.withLock(\.destination) {
                return pipeline.track(name, properties, priority: priority, id: id, configure: configure)
            }
            let time = environment.time.wallTime()
            let id = id ?? state.withLock { $0.ids.next(at: time, in: environment) }
            var event = Event(id: id, name: name, time: time, priority: priority, properties: properties)
            configure(&event)
            keep(event)?.track(event)
            return event.id
        }

        /// Stores the events that `body` tracks together if there is a pipeline. See
        /// ``Sluice/Pipeline/trackTogether(_:)``.
        ///
        /// ```swift
        /// analytics.trackTogether {
        ///     for item in order.items { analytics.track("Purchase", ["sku": .string(item.sku)]) }
        /// }
        /// ```
        ///
        /// - Parameter body: Tracks the events on the thread that it is called on.
        /// - Returns: The result of `body`.
        /// - Throws: The error of `body`.
        @discardableResult
        public func trackTogether<Result, Failure: Error>(
            _ body: () throws(Failure) -> Result
        ) throws(Failure) -> Result {
            guard let pipeline = state.withLock(\.destination) else { return try body() }
            return try pipeline.trackTogether(body)
        }

        /// Keeps or drops an event.
        ///
        /// - Returns: the pipeline if it takes the event instead.
        private func keep(_ event: Event) -> Pipeline? {
            let size = attempt(try EventLine(event, limit: maximumBytes).bytes.count, or: maximumBytes + 1)
            let (pipeline, mustCheck): (Pipeline?, Bool) = state.withLock { state in
                if let pipeline = state.destination { return (pipeline, false) }
                switch state.phase {
                case .waiting where state.bytes + size > maximumBytes: state.dropped += 1
                case .waiting, .draining, .ready:
                    state.events.append(event)
                    state.bytes += size
                }
                defer { state.isChecking = true }
                return (nil, !state.isChecking)
            }
            // No notification arrives for an unlock that happened while the process was suspended.
            if mustCheck { Task { @MainActor [weak self] in self?.check() } }
            return pipeline
        }

        /// Checks for an unlock. After `build` has failed, only notifications lead to another call.
        @MainActor private func check() {
            if hasFailed { return }
            state.withLock { $0.isChecking = false }
            start()
        }

        /// Builds the pipeline, unless that has succeeded or is going on.
        @MainActor private func start() {
            guard DeferredPipeline.wasUnlocked, let build else { return }
            self.build = nil
            do {
                drain(into: try build())
                (onFailure, observations) = (nil, [])
            } catch {
                self.build = build
                hasFailed = true
                onFailure?(error)
            }
        }

        @MainActor private func drain(into pipeline: Pipeline) {
            let dropped = state.withLock { state in
                state.phase = .draining(pipeline, by: ObjectIdentifier(Thread.current))
                return state.dropped
            }
            for round in 1...DeferredPipeline.maximumRounds {
                let events = state.withLock { state in
                    let isLast = state.events.isEmpty || round == DeferredPipeline.maximumRounds
                    if isLast { state.phase = .ready(pipeline) }
                    defer { state.events = [] }
                    return state.events
                }
                if events.isEmpty { break }
                pipeline.trackTogether {
                    for event in events { pipeline.track(event) }
                }
            }
            if dropped > 0 { pipeline.drop(dropped, .beforeUnlock) }
        }
    }

    extension Pipeline {
        /// Tracks an event that was tracked before there was a pipeline.
        fileprivate func track(_ event: Event) {
            track(event.name, priority: event.priority, id: event.id) { $0 = event }
        }
    }

    extension DropReason {
        /// It was tracked before the first unlock, when the memory of a ``DeferredPipeline`` was full.
        public static let beforeUnlock = DropReason(rawValue: "beforeUnlock")
    }
#endif
