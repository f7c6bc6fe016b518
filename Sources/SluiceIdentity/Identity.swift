public import Sluice

/// Adds the user's ids to every event, and remembers them across launches.
///
/// There is always an anonymous id, created once per installation. A login adds the id by which you know the user. An
/// event's distinct id is the login id, or the anonymous id before a login. An event keeps the ids that were current
/// when you tracked it.
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
/// distinct id is derived from the event's own two. An event whose own id was refused, such as `null`, is no one's: it doesn't
/// get these ids either.
///
/// You can call verbs before the pipeline is built. Their events wait, with the ids that are current at the call. To know
/// them, the first of these verbs reads the identity: without an early login, it is the one of the former launch. If it
/// can't be read yet, the events get the ids that the build finds.
///
/// You can call its verbs from any thread. A verb returns when the change is on disk; if it throws, the identity is as
/// it was. Events of a verb, such as `$SignUp`, go to the pipeline that the identity is part of. Give each pipeline an
/// identity of its own, with the same `.file` directory: they share the ids. Any other place, or one with an encryption or a
/// backup, is for one object.
///
/// Several processes, such as an app and its extensions, can share a `.file` directory, and several instances in one
/// process can too. A file lock makes each change start from the latest state, so no change is lost. `track` and the
/// ids of this class use another process's change within a second of the return of its verb, and immediately after the
/// signals `launched` and `didBecomeActive`. To do this, they read the file about once a second. All other calls of
/// `track` make no system call. A verb waits up to 5 s for another process's change, and then throws. The lock of a
/// process that ends is released by the kernel.
///
/// Building the pipeline throws if the identity can't be read. Otherwise, a known user could become a new one by
/// accident. An identity that is damaged is kept aside and reported (see ``Sluice/Persistence``), and a new anonymous
/// id is created.
///
/// ## Sign-up
///
/// The first login under an anonymous id tracks `$SignUp`, with that id as `$original_id`: a backend joins the events
/// from before and after the login. Each later login, of any user, tracks one with `$switches_user`, which joins no ids.
/// Every attempt to store the event has the same event id and the time of the login.
///
/// - If a stage above drops it, for example without the user's consent, the identity repeats it when the app becomes
///   active or enters the background, at the next `login`, or in the next launch.
/// - If a stage below drops or holds it, only the next launch repeats it.
/// - If a `Consent` lets it pass in some routes only, the others get it when the user agrees, also in a later launch.
///
/// ```swift
/// try identity.login("customer-42")    // $SignUp
/// try identity.logout()
/// try identity.login("customer-42")    // $SignUp with $switches_user: the anonymous id has signed up.
/// ```
///
/// ## Erasure
///
/// You can call ``erase()`` from any thread. An event has either all of the former ids or all of the new ones, and the
/// new ones after the method has returned. A verb that runs at the same time takes effect before the erasure and is
/// erased, or after it. A `$SignUp` that the verb is already tracking is still stored. If the process ends while
/// `erase` runs, the next launch has either the former identity or the new one. With
/// `Persistence.device(_:accessGroup:)`, it overwrites the anonymous id in the keychain, in each access group of the
/// app.
public final class Identity: Processor {
    /// Returns true: an event passes at most one.
    public static var isUnique: Bool { true }

    /// The connection to the pipeline.
    public let context = PluginContext()
    private let ids: IdentityState
    let signUps: SignUps

    /// Creates an identity. It is read when the pipeline is built, or when you first ask for an id.
    ///
    /// - Parameters:
    ///   - persistence: Where the identity is kept.
    ///   - sources: Where the first anonymous id can come from. Without an id from them it is a random UUID.
    public init(persistedIn persistence: Persistence, anonymousIDFrom sources: [AnonymousIDSource] = []) {
        let renewed: @Sendable () -> UserIDs = { [context] in UserIDs(anonymousID: Identity.newID(context)) }
        ids = IdentityState(
            in: persistence, report: context.report,
            initial: {
                // Each source is asked once.
                for source in sources { if let id = source.id { return UserIDs(anonymousID: id) } }
                return renewed()
            },
            renewed: renewed)
        signUps = SignUps(of: ids, context)
    }

    private static func newID(_ context: PluginContext) -> String { EventID.random(context.random).description }

    // MARK: Ids

    /// The id of this installation; nil only while the place where it is kept can't be read or written.
    public var anonymousID: String? { current?.anonymousID }

    /// The id that you passed to ``login(_:_:)``; nil if no user is logged in.
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
        // After a failure, prepare() and the verbs repeat this, and can throw.
        if ids.memory.withLock({ $0.ids == nil }) { _ = SluiceError.of(try load()) }
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
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is too long, contains NUL or stands for a
    ///   missing one, and an error of the place where the identity is kept; the identity is then as it was.
    public func setAnonymousID(_ id: String) throws(SluiceError) {
        try UserIDs.validate(id, "anonymous id")
        try change { $0.anonymousID = id }
    }

    /// Forgets the user: creates a new anonymous id, and removes the login id, the bound ids and the groups. A pending
    /// sign-up is not tracked. Use ``erase()`` if no trace of the former ids may stay on the device.
    ///
    /// A session of `Sessions` in the same chain or in a route of it ends first, with the ids of the former user. The next
    /// event begins another one. Events that other threads track while this method runs have no session.
    ///
    /// ```swift
    /// try identity.reset()       // $SessionEnd
    /// pipeline.track("Event")    // $SessionStart, with the new anonymous id
    /// ```
    ///
    /// - Throws: An error of the place where the identity is kept; the identity is then as it was.
    public func reset() throws(SluiceError) {
        try load()
        let new = UserIDs(anonymousID: Identity.newID(context))
        try context.changeUser { () throws(SluiceError) in try change { $0 = new } }
    }

    /// Forgets the user as ``reset()`` does, and removes everything that this identity has stored. Use it when a user
    /// asks for the removal of their data. ``Identity`` describes the effect on other threads and after a crash.
    ///
    /// It also removes damaged state that was kept aside as `.corrupt`, and the temporary files of processes that were
    /// killed during a write. The new anonymous id is always a random UUID, never from an ``AnonymousIDSource``.
    ///
    /// Stored events and the state of other plugins stay. ``Sluice/Pipeline/eraseEverything()`` erases all of it. Events
    /// and profiles at the receiver stay too: call `profile.delete()` before this.
    ///
    /// ```swift
    /// identity.profile.delete()
    /// try identity.erase()
    /// ```
    ///
    /// - Returns: The new anonymous id.
    /// - Throws: An error of the place where the identity is kept; the ids are then as they were. Before the first
    ///   unlock of a device, for example, nothing can be erased.
    @discardableResult
    public func erase() throws(SluiceError) -> String {
        try load()
        let id = Identity.newID(context)
        try context.changeUser { () throws(SluiceError) in try ids.erase(for: UserIDs(anonymousID: id)) }
        return id
    }

    /// Tracks the event of a verb. Before the pipeline is built, the event waits, and a later verb must not change its ids.
    func track(_ name: String, _ properties: Properties = [:]) {
        var early = context.isOpen ? nil : current
        context.track(name, properties) { early?.identify(&$0) }
    }

    // MARK: Processor

    /// Reads the identity, and tracks a `$SignUp` that an earlier launch has not stored.
    ///
    /// - Throws: An error of the place where the identity is kept. ``Sluice/SluiceError/Code/invalidPipeline`` if a ``UserScope``
    ///   stands below, or if another `Identity` has the place, and it isn't one directory without an encryption or a backup for
    ///   both, or one of their routes has a `Consent` of its own.
    public func prepare() throws {
        if context.isAbove(UserScope.self) {
            throw SluiceError(.invalidPipeline, "it gives its ids to all events before the UserScope: list that above")
        }
        try StateGate.current?.claim(ids.places.names, for: signUps, isShared: ids.places.canBeShared)
        StateGate.current?.add(signUps)
        try ids.stand(behind: .current)
        try load()
        signUps.track()
    }

    /// Adds the ids to the event, unless it has ids of its own, one of them was refused, or it is in a ``UserScope``.
    public func process(_ event: inout Event) -> Disposition {
        if event.needsUser {
            ids.identify(&event)
            // The ids can be those of the next user, and the session that of the former one.
            if event.isInSession, context.hasOtherUser(than: event) {
                event.properties.removeAll { ["$session_id", "$session_index"].contains($0.name) }
            }
        } else {
            signUps.passed(event)
        }
        if event.distinctID == nil { event.checkedDistinctID = event.loginID ?? event.anonymousID }
        return .keep
    }

    /// Takes over changes of other processes that share the file.
    public func update(for signal: Signal) {
        switch signal.kind {
        case .launched, .didBecomeActive: ids.refresh()
        case .willResignActive, .didEnterBackground, .willTerminate, .connectivity, .userWillChange: break
        }
    }

    /// Tracks a `$SignUp` that could not be stored before, for example without the user's consent.
    public func emit(for signal: Signal) {
        if signal == .didBecomeActive || signal == .didEnterBackground { signUps.track() }
    }

    /// Tracks a `$SignUp` that could not be stored before. The ids are stored already.
    public func finish() async { signUps.track() }

    /// - Returns: whether the identity has changed.
    @discardableResult
    func change(_ body: (inout UserIDs) throws(SluiceError) -> Void) throws(SluiceError) -> Bool {
        try load()
        return try ids.change(body)
    }

    private func load() throws(SluiceError) {
        // Writes a new id.
        if ids.memory.withLock({ $0.ids == nil }) || !signUps.isLoaded { try ids.change { _ in } }
        signUps.load()
    }
}
