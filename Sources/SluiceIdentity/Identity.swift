public import Sluice

/// Says on every event who did it, and remembers that across launches.
///
/// There is always an anonymous id, minted once; a login adds the id by which the host knows the user. An event's
/// distinct id is the login id, else the anonymous id. The identity is that of the moment of `track`: a later login
/// does not change events that wait.
///
/// ```swift
/// let identity = Identity(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     identity
///     JSONLStore(at: queueDirectory)
///     HTTPTransport(to: collector)
/// }
/// try identity.login("customer-42")
/// try identity.join("company", "acme")
/// identity.profile.set(["plan": "pro"])
/// ```
///
/// An event that brings an id of its own is about whom it names: nothing of this identity is mixed in, and only a
/// missing distinct id is derived from the event's own two.
///
/// One `Identity` may stand in several pipelines, and its verbs may be called from any thread. A verb returns when the
/// change is on disk; what it throws leaves everything as it was. Events of a verb, such as `$SignUp`, go to all
/// pipelines that the identity stands in, and nowhere before it stands in one. Of two objects or processes that keep
/// their identity in the same place, each sees only the changes of its own, and the later change stays.
///
/// A damaged file never changes an id silently: building the pipeline throws ``Sluice/SluiceError/Code/corruptIdentity``
/// until the host has put the file right or called ``resetAnonymousID()``.
public final class Identity: Processor {
    public static var isUnique: Bool { true }

    struct State {
        var ids: UserIDs? {
            didSet { extras = ids?.extras ?? [:] }
        }
        var extras: Properties = [:]
        var outlets: [EventOutlet] = []
        var isSigningUp = false
        /// The `$SignUp` that has passed here, and that no pipeline has stored: a stage below holds it, or has dropped it.
        var passedSignUp: UserIDs.SignUp?
        /// It has passed again: what had held it has let it go.
        var isSignUpLetGo = false
        /// What went wrong before there was anyone to tell.
        var note: String?
    }

    private let persistence: Persistence
    private let sources: [AnonymousIDSource]
    private let random: @Sendable () -> UInt64
    // Held while a change waits for the disk, for which `track` must not wait: it takes only the other lock.
    private let changes = Locked(())
    let state = Locked(State())

    /// Reads the identity; where there is none, finds or mints an anonymous id and keeps it.
    ///
    /// What goes wrong here is tried again, and thrown, when a pipeline is built with it.
    ///
    /// - Parameters:
    ///   - persistence: where the identity is kept.
    ///   - sources: where the first anonymous id may come from, before a random UUID.
    ///   - random: 64 uniformly distributed bits a call, of which anonymous ids are made.
    public init(
        persistedIn persistence: Persistence,
        anonymousIDFrom sources: [AnonymousIDSource] = [],
        random: @escaping @Sendable () -> UInt64 = PipelineEnvironment.systemRandom
    ) {
        self.persistence = persistence
        self.sources = sources
        self.random = random
        do {
            _ = try changes.withLock { () throws(SluiceError) in try load() }
        } catch {
            // attach(to:) does the same again, and can throw.
        }
    }

    // MARK: Who it is

    /// The id of this installation; nil only while the place where it is kept cannot be read or written.
    public var anonymousID: String? { ids?.anonymousID }

    /// The id that the host gave at ``login(_:_:)``; nil when nobody is logged in.
    public var loginID: String? { ids?.loginID }

    /// The login id, else the anonymous id.
    public var distinctID: String? { ids?.distinctID }

    /// Further ids of the user by their kinds, as of ``bind(_:_:)``.
    public var boundIDs: Properties { ids?.boundIDs ?? [:] }

    /// The ids of the user's groups by their types, as of ``join(_:_:_:)``.
    public var groups: Properties { ids?.groups ?? [:] }

    private var ids: UserIDs? { state.withLock { $0.ids } }

    // MARK: A new user

    /// Mints a new anonymous id, as for another user of the same device; the login id stays.
    ///
    /// It is also the way on from a damaged file, which is then kept beside the new one with `.corrupt` at the end of
    /// its name; nobody is logged in after that.
    ///
    /// - Returns: the new anonymous id.
    /// - Throws: an error of the file; the identity is then as it was.
    @discardableResult
    public func resetAnonymousID() throws(SluiceError) -> String {
        let new = mint()
        try replaceAnonymousID(by: new)
        return new
    }

    /// Takes an id of the host's own as the anonymous id, such as one that another system gave; the login id stays.
    ///
    /// From a damaged file it is a way on as ``resetAnonymousID()`` is.
    ///
    /// - Parameter id: 1 to 255 characters, counted as Unicode scalars.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is blank, too long or has a NUL in it, and an error of the
    ///   file; the identity is then as it was.
    public func setAnonymousID(_ id: String) throws(SluiceError) {
        try UserIDs.validate(id, "anonymous id")
        try replaceAnonymousID(by: id)
    }

    /// Forgets everything about the user: a new anonymous id, nobody logged in, no bound ids and no groups.
    ///
    /// - Throws: an error of the file; the identity is then as it was.
    public func reset() throws(SluiceError) {
        let ids = UserIDs(anonymousID: mint())
        try changes.withLock { () throws(SluiceError) in
            try persistence.replace(by: ids)
            state.withLock { $0.ids = ids }
        }
    }

    private func replaceAnonymousID(by new: String) throws(SluiceError) {
        try changes.withLock { () throws(SluiceError) in
            do throws(SluiceError) {
                var ids = try load()
                ids.anonymousID = new
                try keep(ids)
            } catch {
                guard error.code == .corruptIdentity else { throw error }
                let ids = UserIDs(anonymousID: new)
                try persistence.replace(by: ids)
                state.withLock { $0.ids = ids }
            }
        }
    }

    // MARK: Processor

    public func attach(to outlet: EventOutlet) throws {
        _ = try changes.withLock { () throws(SluiceError) in try load() }
        let note = state.withLock { state in
            state.outlets.append(outlet)
            state.passedSignUp = nil
            state.isSignUpLetGo = false
            return state.note
        }
        if let note { outlet.report(note) }
        trackOwedSignUp()
    }

    public func process(_ event: inout Event) -> Disposition {
        if event.distinctID == nil, event.anonymousID == nil, event.loginID == nil {
            state.withLock { state in
                event.anonymousID = state.ids?.anonymousID
                event.loginID = state.ids?.loginID
                if !state.extras.isEmpty { event.properties.addDefaults(state.extras) }
            }
        } else if event.name == Identity.signUpName {
            signUpPasses(event)
        }
        if event.distinctID == nil {
            event.distinctID = event.loginID ?? event.anonymousID
        }
        return .keep
    }

    /// What could not be stored before, such as for want of the user's consent, may be now.
    public func receive(_ signal: Signal) {
        switch signal {
        case .didBecomeActive, .didEnterBackground: trackOwedSignUp()
        case .launched, .willResignActive, .willTerminate, .connectivity: break
        }
    }

    // MARK: For the verbs

    /// - Returns: whether anything is another now.
    @discardableResult
    func change(_ body: (inout UserIDs) throws(SluiceError) -> Void) throws(SluiceError) -> Bool {
        try changes.withLock { () throws(SluiceError) in
            let old = try load()
            var new = old
            try body(&new)
            if new != old { try keep(new) }
            return new != old
        }
    }

    func track(_ name: String, _ properties: Properties) {
        for outlet in state.withLock({ $0.outlets }) { outlet.track(name, properties) }
    }

    // MARK: With the lock on changes held

    private func load() throws(SluiceError) -> UserIDs {
        if let ids { return ids }
        guard let found = try persistence.read() else {
            let ids = UserIDs(anonymousID: firstAnonymousID())
            try keep(ids)
            return ids
        }
        state.withLock { $0.ids = found.ids }
        do throws(SluiceError) {
            try persistence.heal(found)
        } catch {
            state.withLock { $0.note = "the identity is kept in fewer places than it should be: \(error)" }
        }
        return found.ids
    }

    private func keep(_ ids: UserIDs) throws(SluiceError) {
        try persistence.write(ids)
        state.withLock { $0.ids = ids }
    }

    private func firstAnonymousID() -> String {
        for source in sources {
            if let id = source.id { return id }
        }
        return mint()
    }

    private func mint() -> String { EventID.random(random).description }
}
