/// One event: tracked by a host, changed by processors and kept by a store.
///
/// ```swift
/// var event = Event(name: "Purchase", properties: ["sku": "A-7"])
/// event.properties["amount"] = 12.5
/// event.priority = .critical
/// ```
public struct Event: Sendable {
    /// The unique id, created when the event is tracked. It is the same in every retry, so receivers can deduplicate by it.
    public let id: EventID
    /// The name, at most ``maximumNameBytes`` long. Events with an empty name aren't stored.
    public var name: String
    /// The host's wall time at which the event happened.
    public var time: Timestamp
    /// How urgent the event is.
    public var priority: Priority
    // Small values together, because each copy of an event copies them.
    /// The core's sanitizations that the ledger has counted.
    private var counted: Sanitizations = []
    /// The length of the part of ``reportedSanitizations`` that the ledger has counted.
    private var countedReports: UInt8 = 0
    /// Whether `Sessions` has added the session of now.
    package var isInSession = false
    /// Whether it is decided whose event it is, or that it is no one's: by `UserScope`, or by an id that was refused. A decision
    /// stays, also in an event that is inserted before this one.
    package var isInScope = false {
        didSet { isInScope = isInScope || oldValue }
    }
    /// The changes of the user when the event entered its pipeline, from 1 to 65,535 in a circle; 0 if they are unknown.
    package var userChanges: UInt16 = 0
    /// The ids as they are stored. Plugins that have checked an id set these, because a check for each event takes time.
    package var checkedDistinctID, checkedAnonymousID, checkedLoginID: String?
    /// The properties, in order.
    public var properties: Properties
    /// The sanitizations that plugins reported, each once.
    package private(set) var reportedSanitizations: [Sanitization] = []

    /// How urgent an event is. A route takes critical events first from its store, which evicts them last.
    ///
    /// ```swift
    /// pipeline.track("Purchase", priority: .critical)
    /// ```
    public enum Priority: UInt8, Sendable, Hashable, CaseIterable, Comparable {
        /// The default.
        case normal
        /// Taken from the store before normal events, and evicted after them.
        case critical

        /// Returns whether `left` is less urgent than `right`.
        public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
    }

    /// The longest name of an event or a property, in bytes of UTF-8.
    public static let maximumNameBytes = 1_024
}

extension Event {
    /// The user's id for the receiver: the login id, or the anonymous id before a login.
    ///
    /// An id that is longer than 255 characters, counted as Unicode scalars, contains NUL, is blank, or is a text that programs
    /// write for a missing id, such as `null`, `undefined` or `0`, becomes nil, and counts as ``Sanitization/droppedID``. This
    /// also applies to the two other ids. Without a valid one, the event is no one's: plugins add no ids of another user.
    public var distinctID: String? {
        get { checkedDistinctID }
        set { checkedDistinctID = usable(newValue) }
    }
    /// The id of a user who hasn't logged in.
    public var anonymousID: String? {
        get { checkedAnonymousID }
        set { checkedAnonymousID = usable(newValue) }
    }
    /// The id of a user who has logged in.
    public var loginID: String? {
        get { checkedLoginID }
        set { checkedLoginID = usable(newValue) }
    }

    private mutating func usable(_ id: String?) -> String? {
        guard let id, !UserID.isValid(id) else { return id }
        report(.droppedID)
        return nil
    }

    /// Whether plugins can add the ids of a user: the event has no ids, and it isn't decided whose it is.
    package var needsUser: Bool {
        !isInScope && checkedDistinctID == nil && checkedAnonymousID == nil && checkedLoginID == nil
    }

    // In an extension, and by the implicit initializer: Swift copies and destroys the whole event in another one.
    /// Creates an event, as ``EventTracking/track(_:_:priority:id:configure:)`` does for you.
    ///
    /// ```swift
    /// let time = Timestamp(milliseconds: 1_800_000_000_000)
    /// let event = Event(id: EventID.make(at: time), name: "Purchase", time: time)
    /// ```
    public init(
        id: EventID, name: String, time: Timestamp, priority: Priority = .normal, distinctID: String? = nil,
        anonymousID: String? = nil, loginID: String? = nil, properties: Properties = [:]
    ) {
        self.init(
            id: id, name: name, time: time, priority: priority, checkedDistinctID: distinctID,
            checkedAnonymousID: anonymousID, checkedLoginID: loginID, properties: properties, reportedSanitizations: [])
        if distinctID != nil { self.distinctID = distinctID }
        if anonymousID != nil { self.anonymousID = anonymousID }
        if loginID != nil { self.loginID = loginID }
    }

    /// Counts a sanitization of this event in the ledger. Call this in a processor that truncated or dropped something.
    ///
    /// ```swift
    /// /// Removes the addresses of customers.
    /// struct AddressRemover: Processor {
    ///     func process(_ event: inout Event) -> Disposition {
    ///         guard event.properties["address"] != nil else { return .keep }
    ///         event.properties["address"] = nil
    ///         event.report(.droppedProperty)
    ///         return .keep
    ///     }
    /// }
    /// ```
    ///
    /// A sanitization counts once for each event, or once for each route that reports it first. It is counted after the
    /// last processor, even if a store then drops the event. It isn't counted if a processor drops the event.
    ///
    /// With ``Sanitization/droppedID``, the event is no one's: plugins below add no ids of another user.
    ///
    /// - Parameter sanitization: The kind of the change.
    public mutating func report(_ sanitization: Sanitization) {
        if sanitization == .droppedID { isInScope = true }
        if !reportedSanitizations.contains(sanitization) { reportedSanitizations.append(sanitization) }
    }

    /// Truncates or drops the parts that can't be stored, and returns the sanitizations since the last call; nil without
    /// any, as for nearly every event.
    package mutating func takeSanitizations() -> Set<Sanitization>? {
        let found = sanitize().subtracting(counted)
        guard !found.isEmpty || reportedSanitizations.count > Int(countedReports) else { return nil }
        let reported = reportedSanitizations.dropFirst(Int(countedReports))
        counted.formUnion(found)
        countedReports = UInt8(clamping: reportedSanitizations.count)
        return Set(found.causes).union(reported)
    }

    private mutating func sanitize() -> Sanitizations {
        var sanitizations = properties.bounds.sanitizations
        if name.utf8.count > Event.maximumNameBytes {
            name = name.truncated(toBytes: Event.maximumNameBytes)
            sanitizations.insert(.truncatedName)
        }
        if !Timestamp.writable.contains(time) {
            time = time.clamped
            sanitizations.insert(.unwritableDate)
        }
        return sanitizations
    }
}

extension Event: Hashable {
    /// Returns whether the stored parts of both events are equal. Ids are compared by their bytes. Sanitizations aren't
    /// compared.
    public static func == (left: Event, right: Event) -> Bool {
        left.id == right.id && left.name == right.name && left.time == right.time && left.priority == right.priority
            && isSameID(left.distinctID, right.distinctID) && isSameID(left.anonymousID, right.anonymousID)
            && isSameID(left.loginID, right.loginID) && left.properties == right.properties
    }

    private static func isSameID(_ left: String?, _ right: String?) -> Bool {
        left?.hasBytes(of: right) ?? (right == nil)
    }

    /// Hashes the id, which is different for different events.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
