public import Sluice

/// Adds the user's ids to every event, and remembers them across launches.
///
/// There is always an anonymous id, created once; a login adds the id by which you know the user. An event's distinct
/// id is the login id, or the anonymous id before a login. An event keeps the ids that were current when you tracked
/// it.
///
/// ```swift
/// let identity = Identity(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     identity
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// try identity.login("customer-42")
/// try identity.join(group: "acme", ofType: "company")
/// identity.profile.set(["plan": "pro"])
/// ```
///
/// An event that you track with an id of its own keeps it: nothing of this identity is mixed in. Only a missing
/// distinct id is derived from the event's own two.
///
/// You can call its verbs from any thread. A verb returns when the change is on disk; if it throws, the identity is as it
/// was. Events of a verb, such as `$SignUp`, go to the pipeline that the identity is part of. Give each pipeline an identity
/// of its own, with the same `Persistence`: they share the ids.
///
/// Several processes, such as an app and its extensions, can share a `.file` directory, and several instances in one
/// process can too. A file lock makes each change start from the latest state, so no change is lost. `track` and the
/// ids of this class use another process's change within a second of the return of its verb, and immediately after the
/// signals `launched` and `didBecomeActive`. To do this, they read the file about once a second. Other events make no
/// system call. A verb waits up to 5 s for another process's change, and then throws. The lock of a process that ends
/// is released by the kernel.
///
/// Building the pipeline throws if the identity can't be read, so that nobody becomes a new user by accident. An
/// identity that is damaged is kept aside and reported (see ``Sluice/Persistence``), and a new anonymous id is created.
public final class Identity: Processor {
    /// Returns true: a pipeline has at most one.
    public static var isUnique: Bool { true }

    private struct State {
        /// The pending sign-up, until this launch tracks it.
        var signUp: UserIDs.SignUp?
        var isLoaded = false
        /// The last sign-up that has passed this stage.
        var passedSignUp: EventID?
    }

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let ids: IdentityState
    private let state = Locked(State())

    /// Creates an identity. It is read when the pipeline is built, or when you first ask for an id.
    ///
    /// - Parameters:
    ///   - persistence: Where the identity is kept.
    ///   - sources: Where the first anonymous id can come from. Without an id from them it is a random UUID.
    public init(persistedIn persistence: Persistence, anonymousIDFrom sources: [AnonymousIDSource] = []) {
        ids = IdentityState(in: persistence, report: context.report) { [context] in
            for source in sources {
                if let id = source.id { return UserIDs(anonymousID: id) }
            }
            return UserIDs(anonymousID: Identity.newID(context))
        }
    }

    private static func newID(_ context: PluginContext) -> String { EventID.random(context.random).description }

    // MARK: Ids

    /// The id of this installation; nil only while the place where it is kept can't be read or written.
    public var anonymousID: String? { current?.anonymousID }

    /// The id that you passed to ``login(_:_:)``; nil when nobody is logged in.
    public var loginID: String? { current?.loginID }

    /// The login id, or the anonymous id before a login.
    public var distinctID: String? { current?.distinctID }

    /// Further ids of the user by their kinds. See ``bind(_:to:)``.
    public var boundIDs: Properties { current?.boundIDs ?? [:] }

    /// The ids of the user's groups by their types. See ``join(group:ofType:_:)``.
    public var groups: Properties { current?.groups ?? [:] }

    /// The ids. A new anonymous id is on disk before this returns it.
    private var current: UserIDs? {
        if ids.memory.withLock({ $0.ids != nil && $0.isDue(at: context.time.wallTime()) }) { ids.refresh() }
        if let ids = ids.memory.withLock(\.ids) { return ids }
        do throws(SluiceError) {
            try load()
        } catch {
            // prepare() and the verbs do the same again, and can throw.
            return nil
        }
        return ids.memory.withLock(\.ids)
    }

    /// Creates a new anonymous id, as for another user of the same device. The login id stays.
    ///
    /// - Returns: The new anonymous id.
    /// - Throws: An error of the place where the identity is kept; the identity is then as it was.
    @discardableResult
    public func resetAnonymousID() throws(SluiceError) -> String {
        let id = Identity.newID(context)
        try change { $0.anonymousID = id }
        return id
    }

    /// Replaces the anonymous id by an id of your own, such as one from another system. The login id stays.
    ///
    /// - Parameter id: 1 to 255 characters, counted as Unicode scalars.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is blank, too long or contains NUL, and an
    ///   error of the place where the identity is kept; the identity is then as it was.
    public func setAnonymousID(_ id: String) throws(SluiceError) {
        try UserIDs.validate(id, "anonymous id")
        try change { $0.anonymousID = id }
    }

    /// Forgets the user: a new anonymous id, nobody logged in, no bound ids and no groups. A sign-up that is pending is
    /// not tracked. Use ``erase()`` if no trace of the former ids may stay on the device.
    ///
    /// - Throws: An error of the place where the identity is kept; the identity is then as it was.
    public func reset() throws(SluiceError) {
        let new = UserIDs(anonymousID: Identity.newID(context))
        try change { $0 = new }
    }

    /// Removes everything that this identity has stored, and creates a new anonymous id: nobody is logged in, and there
    /// are no bound ids and no groups.
    ///
    /// Use it when a user asks for the removal of their data. In addition to ``reset()``, it removes damaged state that
    /// was kept aside as `.corrupt`, and the temporary files of processes that were killed during a write. With
    /// `Persistence.device(_:accessGroup:)`, it overwrites the anonymous id in the keychain, in each access group of
    /// the app. A `$SignUp` that is pending is not tracked. The new anonymous id is always a random UUID, and never
    /// comes from an ``AnonymousIDSource``.
    ///
    /// Events that are stored already stay, with the ids that they have: call ``Sluice/Pipeline/deleteWaitingEvents()`` after
    /// this to delete them. The state of other plugins stays, and so do events and profiles at the receiver: call
    /// `profile.delete()` before this to request their removal.
    ///
    /// You can call this method from any thread. An event has either all of the former ids or all of the new ones. An
    /// event that is tracked after this method has returned has the new ones. A verb that runs at the same time takes
    /// effect before this one and is erased, or after it. A `$SignUp` that the verb is already tracking is still
    /// stored. If the process ends while this method runs, the next launch has either the former identity or the new
    /// one, never a mixture of both.
    ///
    /// - Returns: The new anonymous id.
    /// - Throws: An error of the place where the identity is kept; the ids are then as they were. Before the first
    ///   unlock of a device, for example, nothing can be erased.
    @discardableResult
    public func erase() throws(SluiceError) -> String {
        try load()
        let id = Identity.newID(context)
        try ids.erase(for: UserIDs(anonymousID: id))
        return id
    }

    // MARK: Processor

    /// Reads the identity, and tracks a `$SignUp` that an earlier launch has not stored.
    ///
    /// - Throws: An error of the place where the identity is kept.
    public func prepare() throws {
        try load()
        trackSignUp()
    }

    /// Adds the ids to the event, unless it has ids of its own.
    public func process(_ event: inout Event) -> Disposition {
        if event.distinctID == nil, event.anonymousID == nil, event.loginID == nil {
            let isDue = ids.memory.withLock { memory in
                let isDue = memory.isDue(at: event.time)
                if !isDue { memory.ids?.identify(&event) }
                return isDue
            }
            if isDue {
                ids.refresh()
                ids.memory.withLock { $0.ids?.identify(&event) }
            }
        } else if event.name == UserIDs.SignUp.eventName {
            state.withLock { $0.passedSignUp = event.id }
        }
        if event.distinctID == nil {
            event.distinctID = event.loginID ?? event.anonymousID
        }
        return .keep
    }

    /// Takes over changes of other processes that share the file.
    public func update(for signal: Signal) {
        switch signal.kind {
        case .launched, .didBecomeActive: ids.refresh()
        case .willResignActive, .didEnterBackground, .willTerminate, .connectivity: break
        }
    }

    /// Tracks a `$SignUp` that could not be stored before, for example without the user's consent.
    public func emit(for signal: Signal) {
        switch signal.kind {
        case .didBecomeActive, .didEnterBackground: trackSignUp()
        case .launched, .willResignActive, .willTerminate, .connectivity: break
        }
    }

    /// Tracks a `$SignUp` that could not be stored before. The ids are stored already.
    public func finish() async { trackSignUp() }

    // MARK: For the verbs

    /// - Returns: whether the identity has changed.
    @discardableResult
    func change(_ body: (inout UserIDs) throws(SluiceError) -> Void) throws(SluiceError) -> Bool {
        try load()
        return try ids.change(body)
    }

    private func load() throws(SluiceError) {
        // Writes a new id.
        if ids.memory.withLock({ $0.ids == nil }) || !state.withLock(\.isLoaded) { try ids.change { _ in } }
        state.withLock { state in
            if !state.isLoaded { state.signUp = ids.memory.withLock { $0.ids?.signUp } }
            state.isLoaded = true
        }
    }

    /// Tracks a new sign-up, or one that is pending, and notes that it is done once a pipeline has stored it.
    ///
    /// Every attempt has the same id, so a receiver recognizes a repetition. A sign-up is repeated after a crash
    /// between tracking and noting, and after a launch in which a stage below has held it. If a stage above drops it,
    /// it is tracked again at the next opportunity. If it has passed this stage, it is tracked again in the next
    /// launch.
    func trackSignUp(_ new: UserIDs.SignUp? = nil) {
        let pending = state.withLock { state in
            defer { state.signUp = nil }
            return new ?? state.signUp
        }
        // A reset or another login may have replaced it.
        guard let signUp = pending,
            let extras = ids.memory.withLock({ $0.ids?.signUp == signUp ? $0.ids?.extras : nil })
        else { return }
        let isStored = context.track(UserIDs.SignUp.eventName) { event in
            event = signUp.event(with: extras)
        }
        if isStored {
            do throws(SluiceError) {
                try ids.change { if $0.signUp == signUp { $0.signUp = nil } }
            } catch {
                context.report("that $SignUp was tracked can't be kept, so the next launch repeats it: \(error)")
            }
        } else {
            let isPending = ids.memory.withLock { $0.ids?.signUp == signUp }
            state.withLock { state in
                if isPending, state.passedSignUp != signUp.id, state.signUp == nil { state.signUp = signUp }
            }
        }
    }
}
