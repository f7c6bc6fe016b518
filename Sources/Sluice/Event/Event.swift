/// One thing that happened: what a host tracks, what processors change and what a store keeps.
public struct Event: Sendable {
    /// Minted once, when the event is tracked; the same in every retry, and so the key for deduplication.
    public let id: EventID
    /// Never empty by the time it is stored; at most ``maximumNameBytes`` of UTF-8.
    public var name: String
    /// When it happened, by the wall clock of the host.
    public var time: Timestamp
    public var priority: Priority
    // These three fill the padding behind the priority.
    /// The core's sanitizations that the ledger has counted.
    private var counted: Sanitizations = []
    /// The length of the part of ``reportedSanitizations`` that the ledger has counted.
    private var countedReports: UInt8 = 0
    /// The number of the chain of processors that the event passes; 0 before it has entered one.
    var chain: UInt32 = 0
    /// Who did it, as the backend is to know them: the login id, or the anonymous id before a login.
    public var distinctID: String?
    public var anonymousID: String?
    public var loginID: String?
    public var properties: Properties
    /// The sanitizations that plugins have reported, each once.
    package private(set) var reportedSanitizations: [Sanitization] = []

    public init(
        id: EventID,
        name: String,
        time: Timestamp,
        priority: Priority = .normal,
        distinctID: String? = nil,
        anonymousID: String? = nil,
        loginID: String? = nil,
        properties: Properties = [:]
    ) {
        self.id = id
        self.name = name
        self.time = time
        self.priority = priority
        self.distinctID = distinctID
        self.anonymousID = anonymousID
        self.loginID = loginID
        self.properties = properties
    }

    /// How urgent an event is, and how dear: critical ones are sent first and evicted last.
    public enum Priority: UInt8, Sendable, Hashable, CaseIterable, Comparable {
        case normal
        case critical

        public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
    }

    /// The longest name of an event or a property, and the longest id, in bytes of UTF-8.
    public static let maximumNameBytes = 1_024
}

extension Event: Equatable {
    /// Events are equal if what is stored of them is, whatever had to be cut on the way.
    public static func == (left: Event, right: Event) -> Bool {
        left.id == right.id && left.name == right.name && left.time == right.time && left.priority == right.priority
            && left.distinctID == right.distinctID && left.anonymousID == right.anonymousID
            && left.loginID == right.loginID && left.properties == right.properties
    }
}

extension Event {
    /// Has the ledger count that a processor cut something from this event.
    ///
    /// It is counted once the event has passed the last processor of the pipeline, or of the route that the reporting
    /// one stands in: also if the event is dropped after that, with an empty name or by a store. An event that a
    /// processor drops before counts nothing.
    ///
    /// - Parameter sanitization: what was done. A cause counts once for each event, however often it is reported; once for
    ///   each route if it is first reported there.
    public mutating func report(_ sanitization: Sanitization) {
        if !reportedSanitizations.contains(sanitization) { reportedSanitizations.append(sanitization) }
    }

    /// Cuts what could not be stored, and returns what has been cut since this was called last.
    mutating func takeSanitizations() -> Set<Sanitization> {
        let found = sanitize().subtracting(counted)
        let reported = reportedSanitizations.dropFirst(Int(countedReports))
        guard !found.isEmpty || !reported.isEmpty else { return [] }
        counted.formUnion(found)
        countedReports = UInt8(clamping: reportedSanitizations.count)
        return Set(found.causes).union(reported)
    }

    private mutating func sanitize() -> Sanitizations {
        var sanitizations = properties.bounds.sanitizations
        if name.utf8.count > Event.maximumNameBytes {
            name = name.cut(toBytes: Event.maximumNameBytes)
            sanitizations.insert(.truncatedName)
        }
        if Event.dropOverlong(&distinctID) { sanitizations.insert(.droppedID) }
        if Event.dropOverlong(&anonymousID) { sanitizations.insert(.droppedID) }
        if Event.dropOverlong(&loginID) { sanitizations.insert(.droppedID) }
        if !Timestamp.writable.contains(time) {
            time = min(max(time, Timestamp.writable.lowerBound), Timestamp.writable.upperBound)
            sanitizations.insert(.unwritableDate)
        }
        return sanitizations
    }

    private static func dropOverlong(_ id: inout String?) -> Bool {
        guard let length = id?.utf8.count, length > maximumNameBytes else { return false }
        id = nil
        return true
    }
}
