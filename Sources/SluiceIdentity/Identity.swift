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
/// ```
///
/// An event that brings an id of its own is about whom it names: nothing of this identity is mixed in, and only a
/// missing distinct id is derived from the event's own two.
///
/// One `Identity` may stand in several pipelines, and its verbs may be called from any thread. A verb returns when the
/// change is on disk; what it throws leaves everything as it was. Of two objects or processes that keep their identity
/// in the same place, each sees only the changes of its own, and the later change stays.
///
/// A damaged file never changes an id silently: building the pipeline throws ``Sluice/SluiceError/Code/corruptIdentity``
/// until the host has put the file right or called ``resetAnonymousID()``.
public final class Identity: Processor {
    public static var isUnique: Bool { true }

    private let persistence: Persistence
    private let random: @Sendable () -> UInt64
    // Held while a change waits for the disk, for which `track` must not wait: it takes only the other lock.
    private let changes = Locked(())
    private let current = Locked<UserIDs?>(nil)

    /// Reads the identity; where there is none, mints an anonymous id and keeps it.
    ///
    /// What goes wrong here is tried again, and thrown, when a pipeline is built with it.
    ///
    /// - Parameters:
    ///   - persistence: where the identity is kept.
    ///   - random: 64 uniformly distributed bits a call, of which anonymous ids are made.
    public init(
        persistedIn persistence: Persistence,
        random: @escaping @Sendable () -> UInt64 = PipelineEnvironment.systemRandom
    ) {
        self.persistence = persistence
        self.random = random
        do {
            _ = try changes.withLock { (_) throws(SluiceError) in try load() }
        } catch {
            // attach(to:) does the same again, and can throw.
        }
    }

    // MARK: Who it is

    /// The id of this installation; nil only while the place where it is kept cannot be read or written.
    public var anonymousID: String? { current.withLock { $0?.anonymousID } }

    /// The id that the host gave at ``login(_:)``; nil when nobody is logged in.
    public var loginID: String? { current.withLock { $0?.loginID } }

    /// The login id, else the anonymous id.
    public var distinctID: String? { current.withLock { $0?.distinctID } }

    // MARK: Verbs

    /// Names the user from now on. The same id again changes nothing; another one replaces it.
    ///
    /// - Parameter id: 1 to 255 characters, counted as Unicode scalars.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` for an id that is empty or too long, and an error of the
    ///   file; the identity is then as it was.
    public func login(_ id: String) throws(SluiceError) {
        try UserIDs.validate(id, "login id")
        try change { $0.loginID = id }
    }

    /// Forgets the login id; the anonymous id stays.
    ///
    /// - Throws: an error of the file; the identity is then as it was.
    public func logout() throws(SluiceError) {
        try change { $0.loginID = nil }
    }

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
        try changes.withLock { (_) throws(SluiceError) in
            do throws(SluiceError) {
                var ids = try load()
                ids.anonymousID = new
                try keep(ids)
            } catch {
                guard error.code == .corruptIdentity else { throw error }
                try persistence.setAside()
                try keep(UserIDs(anonymousID: new))
            }
        }
        return new
    }

    // MARK: Processor

    public func attach(to outlet: EventOutlet) throws {
        _ = try changes.withLock { (_) throws(SluiceError) in try load() }
    }

    public func process(_ event: inout Event) -> Disposition {
        if event.distinctID == nil, event.anonymousID == nil, event.loginID == nil {
            let ids = current.withLock { $0 }
            event.anonymousID = ids?.anonymousID
            event.loginID = ids?.loginID
        }
        if event.distinctID == nil {
            event.distinctID = event.loginID ?? event.anonymousID
        }
        return .keep
    }

    // MARK: With the lock on changes held

    private func change(_ body: (inout UserIDs) -> Void) throws(SluiceError) {
        try changes.withLock { (_) throws(SluiceError) in
            let old = try load()
            var new = old
            body(&new)
            if new != old { try keep(new) }
        }
    }

    private func load() throws(SluiceError) -> UserIDs {
        if let ids = current.withLock({ $0 }) { return ids }
        if let ids = try persistence.read() {
            current.withLock { $0 = ids }
            return ids
        }
        let ids = UserIDs(anonymousID: mint())
        try keep(ids)
        return ids
    }

    private func keep(_ ids: UserIDs) throws(SluiceError) {
        try persistence.write(ids)
        current.withLock { $0 = ids }
    }

    /// A random UUID (RFC 9562, version 4), as text.
    private func mint() -> String {
        let high = random() & ~0xF000 | 4 << 12
        let low = random() >> 2 | 0b10 << 62
        // Not the id of an event, but the same 128 bits and the same spelling.
        return EventID(high: high, low: low).description
    }
}
