/// A plugin's connection to the pipelines that it is part of: to make events, to read the clocks, and to report
/// failures.
///
/// Declare one as a property of your processor. The pipeline connects it when it is built:
///
/// ```swift
/// final class Greeter: Processor {
///     let context = PluginContext()
///
///     func process(_ event: inout Event) -> Disposition { .keep }
///
///     func emit(for signal: Signal) {
///         if signal == .didBecomeActive { context.track("Hello") }
///     }
/// }
/// ```
///
/// One context serves all pipelines that the plugin is part of. It doesn't keep them alive. Don't call it with a lock
/// held that `process` takes: events come back through your plugin.
public final class PluginContext: Sendable {
    /// A position of the plugin in a pipeline.
    private struct Place {
        weak var path: EventPath?
        let chain: UInt32
        let index: Int
    }

    private struct State {
        var places: [Place] = []
        var plugin = ""
        var environment = PipelineEnvironment()
        /// Messages from before there was a pipeline.
        var unreported: [String] = []
    }

    private static let maximumUnreported = 10

    private let state = Locked(State())
    private let creator = CreatingProcess()

    /// Creates a context that is not connected to a pipeline yet.
    public init() {}

    func bind(to path: EventPath, _ chain: UInt32, _ index: Int, named plugin: String) {
        let unreported = state.withLock { state in
            if state.plugin.isEmpty {
                state.plugin = plugin
                state.environment = path.environment
            }
            state.places.removeAll { $0.path == nil }
            state.places.append(Place(path: path, chain: chain, index: index))
            defer { state.unreported = [] }
            return state.unreported
        }
        for message in unreported { path.report(.plugin, "\(plugin): \(message)") }
    }

    // MARK: Events

    /// Tracks an event as a host would: it passes all processors, in every pipeline that the plugin is part of.
    ///
    /// Don't call this from ``Processor/process(_:)``: the new event passes that processor again and would recurse. Use
    /// ``insert(_:_:priority:before:configure:)-(_,Properties,_,_,_)`` there.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties. They take precedence over a plugin's properties of the same name.
    ///   - priority: The event's priority. Critical events are sent first and evicted last.
    ///   - configure: Changes the event before the first processor sees it.
    /// - Returns: Whether at least one route has stored the event.
    @discardableResult
    public func track(
        _ name: String, _ properties: Properties = [:], priority: Event.Priority = .normal,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        track(name, properties, priority: priority, exceptWhere: nil, configure: configure)
    }

    /// Tracks an event in every pipeline except that of `event`.
    @discardableResult
    package func track(
        _ name: String, _ properties: Properties, priority: Event.Priority = .normal, exceptWhere event: Event?,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        let excluded = event.flatMap { isInherited ? nil : place(of: $0)?.path }
        var isStored = false
        for path in paths where path !== excluded {
            let isStoredThere = path.storingOneByOne {
                path.track(name, properties, priority, id: nil, configure).isStored
            }
            if isStoredThere { isStored = true }
        }
        return isStored
    }

    /// Inserts a new event before the one that your processor is processing.
    ///
    /// The new event has its own id and the current time. It passes the stages below your processor, in the pipeline
    /// or route that `event` is passing, and nothing above. It gets the user's ids from `event`.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties.
    ///   - priority: The event's priority.
    ///   - event: The event that ``Processor/process(_:)`` was given.
    ///   - configure: Changes the new event before the next processor sees it.
    /// - Returns: Whether at least one route has stored the new event.
    @discardableResult
    public func insert(
        _ name: String, _ properties: Properties = [:], priority: Event.Priority = .normal, before event: Event,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        guard !isInherited, let (path, index) = place(of: event) else { return false }
        return path.storingOneByOne {
            path.insert(name, properties, priority, before: event, below: index, configure)
        }
    }

    /// Lets an event continue that your processor has held back with ``Disposition/hold``.
    ///
    /// It passes the stages below your processor, in the pipeline or route that it came from, with its own id and time.
    /// Forward each held event once. You can do that from any thread, and from ``Processor/process(_:)`` too.
    ///
    /// - Parameter event: A copy of the held event. You can change it before.
    /// - Returns: Whether at least one route has stored the event. False if its pipeline is gone.
    @discardableResult
    public func forward(_ event: Event) -> Bool {
        guard !isInherited, let (path, index) = place(of: event) else { return false }
        return path.storingOneByOne { path.forward(event, below: index) }
    }

    /// Ends an event that your processor has held back with ``Disposition/hold``.
    ///
    /// - Parameters:
    ///   - event: The held event.
    ///   - reason: The reason that the ledger counts.
    public func drop(_ event: Event, _ reason: DropReason) {
        guard !isInherited, let (path, index) = place(of: event) else { return }
        path.drop(event, reason, by: index)
    }

    // MARK: Surroundings

    /// Reports a message to the host's diagnostics, with the name of the plugin's type. Use it for a failure where
    /// nothing can be thrown.
    ///
    /// You can report before there is a pipeline: the first ten messages are kept for it.
    ///
    /// - Parameter message: The failure and the remedy, without secrets and contents of events.
    public func report(_ message: String) {
        if isInherited { return }
        let (paths, plugin) = state.withLock { state in
            if state.plugin.isEmpty, state.unreported.count < PluginContext.maximumUnreported {
                state.unreported.append(message)
            }
            return (state.places.compactMap(\.path), state.plugin)
        }
        for path in unique(paths) { path.report(.plugin, "\(plugin): \(message)") }
    }

    /// The clocks of the first pipeline that the plugin became part of; before that, the system's.
    public var time: any TimeSource {
        isInherited ? PipelineEnvironment.systemTime : state.withLock { $0.environment.time }
    }

    /// The source of random numbers of that pipeline: 64 uniformly distributed bits a call.
    public var random: @Sendable () -> UInt64 {
        isInherited ? PipelineEnvironment.systemRandom : state.withLock { $0.environment.random }
    }

    /// Creates the id of an event that the plugin tracks later.
    package func newEventID(at time: Timestamp) -> EventID { .timed(time, random) }

    /// Whether this process is the child of a `fork`, and the plugin was created in its parent. Check this in each verb, before
    /// you take a lock: another thread of the parent may have held it at the time of the fork.
    package var isInherited: Bool { creator.isParent }

    /// Call this in each verb that throws.
    ///
    /// - Throws: ``SluiceError/Code/shutDown`` if the plugin ``isInherited``.
    package func checkProcess() throws(SluiceError) {
        if isInherited {
            throw SluiceError(
                .shutDown, "it belongs to the parent of this process: create plugins after a fork")
        }
    }

    // MARK: Places

    private var paths: [EventPath] {
        func living(_ state: inout State) -> [EventPath] { state.places.compactMap(\.path) }
        // A child of a fork doesn't wait. If the lock was held at the time of the fork, the event is dropped uncounted.
        return unique(isInherited ? state.withLockIfFree(living) ?? [] : state.withLock(living))
    }

    /// A plugin can stand in several routes of one pipeline.
    private func unique(_ paths: [EventPath]) -> [EventPath] {
        guard paths.count > 1 else { return paths }
        return paths.enumerated().filter { index, path in !paths[..<index].contains { $0 === path } }.map(\.element)
    }

    private func place(of event: Event) -> (path: EventPath, index: Int)? {
        state.withLock { state in
            guard let place = state.places.first(where: { $0.chain == event.chain }) else { return nil }
            return place.path.map { ($0, place.index) }
        }
    }
}

extension SluiceError {
    /// An error that a plugin has thrown while a pipeline is built, with the name of its type.
    init(_ error: any Error, from plugin: Any) {
        let name = "\(type(of: plugin))"
        if let error = error as? SluiceError {
            self.init(error.code, "\(name): \(error.message)", cause: error.cause)
        } else {
            self.init(.invalidPipeline, "\(name) cannot be used: \(error)", cause: error)
        }
    }
}

// MARK: Literals with variables

extension PluginContext {
    /// Tracks an event with a literal that has variables in it.
    ///
    /// - Returns: Whether at least one route has stored the event.
    @_disfavoredOverload
    @discardableResult
    public func track(
        _ name: String, _ properties: PropertyLiteral, priority: Event.Priority = .normal,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        track(name, properties.properties, priority: priority, configure: configure)
    }

    /// Inserts an event with a literal that has variables in it.
    ///
    /// - Returns: Whether at least one route has stored the new event.
    @_disfavoredOverload
    @discardableResult
    public func insert(
        _ name: String, _ properties: PropertyLiteral, priority: Event.Priority = .normal, before event: Event,
        configure: (inout Event) -> Void = { _ in }
    ) -> Bool {
        insert(name, properties.properties, priority: priority, before: event, configure: configure)
    }
}
