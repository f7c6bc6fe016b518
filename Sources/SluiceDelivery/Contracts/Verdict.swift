/// The result of sending one event.
///
/// A transport creates verdicts. To react to another transport's verdicts, compare them or read ``isAccepted``: more
/// kinds can be added in a minor version.
///
/// ```swift
/// func verdicts(forCode code: Int) -> Verdicts {
///     switch code {
///     case 0: .all(.accepted)
///     case 7: .all(.retry(after: .seconds(60), reason: "the quota of this minute is used up"))
///     default: .all(.split(reason: "code \(code)"))
///     }
/// }
/// ```
public struct Verdict: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case accepted, duplicate, rejected, unsendable, tooLarge, split, hold
        case retry(after: Duration?)
    }

    package let kind: Kind
    /// Why the event was not accepted, for diagnostics, the ledger and dead letters. Empty if there is no reason.
    public let reason: String
    /// The receiver's own words about this event, for its dead letter only. Nil if it said nothing, or if
    /// ``Verdicts/response`` has the words.
    ///
    /// ```swift
    /// var verdict = Verdict.rejected(reason: "the table refused the row")
    /// verdict.response = "the column 'price' doesn't exist"
    /// ```
    public var response: String? {
        get { words.text }
        set { words = ResponseText(newValue) }
    }
    private var words = ResponseText(nil)
    /// The status of the response, if it isn't ``Verdicts/status``.
    package var status: Int?
    /// The time that the receiver asked for with a ``hold(reason:after:)``.
    package private(set) var holdTime: Duration?

    /// The receiver took the event.
    public static let accepted = Verdict(kind: .accepted, reason: "")

    /// The receiver already had the event.
    public static let duplicate = Verdict(kind: .duplicate, reason: "")

    /// Send the event once more, not before `after` if you pass it, and otherwise soon or after a pause. At most an hour counts, and
    /// a time in the past adds nothing to the pause.
    ///
    /// ```swift
    /// let busy = Verdict.retry(after: .seconds(30), reason: "HTTP 503")
    /// ```
    public static func retry(after: Duration? = nil, reason: String = "") -> Verdict {
        Verdict(kind: .retry(after: after), reason: reason)
    }

    /// There was no response. The text of a foreign error may contain data that must not be logged.
    package static func retry(_ error: any Error) -> Verdict {
        .retry(reason: (error as? SluiceError)?.reason ?? "\(type(of: error)); its text is not logged")
    }

    /// The receiver refused this event for good. It becomes a dead letter immediately if the receiver has accepted another
    /// event of the request, or would without it. Otherwise it has failed alone, or, as the verdict for the request, with the others.
    public static func rejected(reason: String) -> Verdict { Verdict(kind: .rejected, reason: reason) }

    /// The transport can't send this event: it is too large for the wire format, or unreadable. It becomes a dead letter
    /// without a request, and says nothing about the receiver.
    public static func unsendable(reason: String) -> Verdict { Verdict(kind: .unsendable, reason: reason) }

    /// The request has too many bytes or events. Smaller parts follow. Without a status, the limit is the transport's own,
    /// and an event that is too large alone becomes a dead letter.
    public static func tooLarge(reason: String = "the request is too large for the receiver") -> Verdict {
        Verdict(kind: .tooLarge, reason: reason)
    }

    /// The receiver refused the request, probably because of an event that it didn't name. The route finds out which one.
    public static func split(reason: String) -> Verdict { Verdict(kind: .split, reason: reason) }

    /// The receiver refused the request, probably for a reason that isn't in the events, such as a wrong key. The route finds
    /// out. If you pass `after`, it waits at least this long, an hour at most. Beside accepted events, and usually if all of its
    /// own events are blamed, only these wait. With `after`, or without a status, no event becomes a dead letter for it,
    /// unless such events take the store's room.
    public static func hold(reason: String, after: Duration? = nil) -> Verdict {
        Verdict(kind: .hold, reason: reason, holdTime: after)
    }

    /// Whether the receiver has the event.
    public var isAccepted: Bool { kind == .accepted || kind == .duplicate }
}

/// The verdicts for the events of a batch, and the status of the receiver's response.
public struct Verdicts: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case all(Verdict)
        case each([Verdict])
    }

    package let kind: Kind
    /// The status of the receiver's response, such as 503 of HTTP, for ``RouteLedger/Attempts/lastStatus``. Nil without a
    /// response, or if the transport has no status.
    ///
    /// ```swift
    /// let response = Verdicts.all(busy, status: 503)
    /// ```
    public var status: Int?
    /// The receiver's own words, such as the body of the response. A dead letter keeps the first 1,024 bytes; they
    /// never become part of a diagnostic or of the ledger. ``Verdict/response`` of a single event takes precedence.
    ///
    /// ```swift
    /// var verdicts = Verdicts.all(.split(reason: "HTTP 400"), status: 400)
    /// verdicts.response = "unknown field 'price'"
    /// ```
    public var response: String? {
        get { words.text }
        set { words = ResponseText(newValue) }
    }
    private var words = ResponseText(nil)

    /// One verdict for the request as a whole.
    public static func all(_ verdict: Verdict, status: Int? = nil) -> Verdicts {
        Verdicts(kind: .all(verdict), status: status)
    }

    /// One verdict for each event, in the order of the batch. Use this only if the receiver named the events.
    ///
    /// ```swift
    /// let mixed = Verdicts.each([.accepted, .rejected(reason: "the name is too long")])
    /// ```
    ///
    /// A ``Verdict/retry(after:reason:)`` in the list sets that event aside, for its time or for a while that grows, and the
    /// other events go on. With `after: .zero` the route resends it without a pause if another event is accepted or named as
    /// invalid. Use that for a receiver that takes a request only as a whole, without the events that it names. A list of the
    /// wrong length counts as a retry of the whole batch.
    public static func each(_ verdicts: [Verdict], status: Int? = nil) -> Verdicts {
        Verdicts(kind: .each(verdicts), status: status)
    }
}
