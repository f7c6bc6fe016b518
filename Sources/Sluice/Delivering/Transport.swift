/// Sends batches somewhere and says, for each event, what came of it.
///
/// ## Conforming
/// - ``send(_:)`` is called for one batch after the other, or for up to three at a time where a route's policy says so.
/// - It may wait and may fail. It returns soon after its task was cancelled, and it always returns: a
///   transport over a network has deadlines of its own.
/// - It holds nothing back: an event that is ``Verdict/accepted`` is the receiver's. The store forgets it then.
/// - The text of a ``SluiceError`` that it throws is shown to the host's diagnostics; of any other error only the type is.
/// - A batch may come again whole or in parts, with the same event ids, after any verdict but an acceptance.
/// - Hold it to `TransportContract` of SluiceTesting.
public protocol Transport: Sendable {
    /// Called once for each pipeline that is built with this transport, before any batch.
    ///
    /// - Throws: what makes it unusable, such as a URL that is none; the pipeline is then not built.
    func open() throws(SluiceError)

    /// Sends the events of `batch`, in order.
    ///
    /// - Returns: one verdict for all, or one for each event in the batch's order.
    /// - Throws: any error; it counts as ``Verdict/retry(after:reason:)`` for the whole batch.
    func send(_ batch: Batch) async throws -> Verdicts

    /// The largest batch that is worth a try. The default is no limit.
    var maximumBatchSize: BatchSize { get }
}

extension Transport {
    public func open() throws(SluiceError) {}
    public var maximumBatchSize: BatchSize { BatchSize(events: .max, bytes: .max) }
}

/// What came of one event.
public enum Verdict: Sendable, Hashable {
    /// The receiver has it.
    case accepted
    /// The receiver had it already.
    case duplicate
    /// Try again, not before `after` has passed if it is given, else after the back-off of the delivery loop. The reason
    /// is for the host's diagnostics and the ledger.
    case retry(after: Duration?, reason: String = "")
    /// No retry can help this event: it becomes a dead letter as soon as another one was accepted. A receiver that rejects
    /// everything is probably at fault itself, and is sent all of it again later.
    case rejected(String)
    /// The transport can't send this event: it is too large for the wire format, or unreadable. It becomes a dead letter
    /// without counting as a refusal by the receiver.
    case unsendable(String)
    /// The receiver refused the batch because of some of its events: send it in parts, to find out which.
    case split(Split)
    /// Nothing can be sent at present, for a reason that lies not in the events: keep all, and probe now and then.
    case hold(String)

    /// Why a batch is to be sent in parts.
    public enum Split: Sendable, Hashable {
        /// It has too many bytes or events. An event that is too large by itself is rejected.
        case tooLarge
        /// An event in it is refused. One that is refused even alone is rejected if another one was accepted; else
        /// the receiver refuses everything, and all is kept.
        case refused(String)
    }
}

/// The verdicts on the events of a batch.
public enum Verdicts: Sendable, Hashable {
    /// The same one for every event.
    case all(Verdict)
    /// One for each event, in the order of the batch. Any other count is taken as a retry of them all.
    case each([Verdict])
}
