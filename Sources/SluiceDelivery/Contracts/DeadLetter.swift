/// A rejected event that a store keeps. You can list, replay and discard dead letters through ``Pipeline``.
///
/// ```swift
/// for letter in try await pipeline.deadLetters() {
///     print(letter.date, letter.reason)
/// }
/// ```
public struct DeadLetter: Sendable, Identifiable {
    /// The store's number for a dead letter. It stays the same until the store is closed.
    public typealias ID = UInt64

    /// The id, unique among the dead letters of the store. Zero in ``Store/reject(_:in:)``, which assigns it.
    public let id: ID
    /// The event as it was stored.
    public let line: EventLine
    /// Why the event was rejected.
    public let reason: String
    /// When the event was rejected, by the wall clock of this system.
    public let date: Timestamp
    /// The status of the receiver's response, such as 400 of HTTP. Nil if the event was never sent, or if the transport
    /// has no status.
    public let status: Int?
    /// The receiver's own words: at most 1,024 bytes of UTF-8, with each control character replaced by a space. Nil if
    /// it said nothing. They can repeat contents of the event.
    ///
    /// ```swift
    /// for letter in try await pipeline.deadLetters() {
    ///     print(letter.status ?? 0, letter.response ?? letter.reason)
    /// }
    /// ```
    public var response: String? { words.text }
    private let words: ResponseText

    /// Creates a dead letter, in a store of your own or in a test.
    ///
    /// ```swift
    /// let line = EventLine(bytes: [], priority: .normal)
    /// let letter = DeadLetter(line: line, reason: "HTTP 400", date: .now)
    /// ```
    ///
    /// - Parameters:
    ///   - id: See ``id``.
    ///   - line: See ``line``.
    ///   - reason: See ``reason``.
    ///   - date: See ``date``.
    ///   - status: See ``status``.
    ///   - response: The receiver's words, which are cut and cleaned.
    public init(
        id: ID = 0, line: EventLine, reason: String, date: Timestamp, status: Int? = nil, response: String? = nil
    ) {
        self.id = id
        self.status = status
        words = ResponseText(response).cleaned
        self.line = line
        self.reason = reason
        self.date = date
    }

    /// The same letter with the id that a store assigns, and with at most 1,024 characters of its reason.
    ///
    /// ```swift
    /// let letter = DeadLetter(line: EventLine(bytes: [], priority: .normal), reason: "HTTP 400", date: .now)
    /// let kept = [letter.with(id: 1)]
    /// ```
    public func with(id: ID) -> DeadLetter {
        DeadLetter(
            id: id, line: line, reason: String(reason.prefix(1_024)), date: date, status: status, response: response)
    }

    /// Decodes the event.
    ///
    /// ```swift
    /// let names = try await pipeline.deadLetters().map { try $0.event().name }
    /// ```
    ///
    /// - Throws: ``SluiceError/Code/malformedLine`` if the line is not an event of this version.
    public func event() throws(SluiceError) -> Event { try line.event() }
}
