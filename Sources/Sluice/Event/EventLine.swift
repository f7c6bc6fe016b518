/// An event as its one canonical line of JSON: what stores keep and transports send.
///
/// The line is a JSON object without a newline, inside or behind it. Lines of one batch may share one buffer.
public struct EventLine: Sendable, Equatable {
    /// UTF-8, starting with `{"id":"` and ending with `}`.
    public let bytes: ArraySlice<UInt8>
    public let priority: Event.Priority

    /// For stores, when they read back what they were given.
    public init(bytes: ArraySlice<UInt8>, priority: Event.Priority) {
        self.bytes = bytes
        self.priority = priority
    }

    /// The event's id, read from the line's fixed place for it; nil if the bytes are no canonical line.
    public var id: EventID? {
        let start = bytes.startIndex + EventLine.idPrefix.count
        guard bytes.count >= EventLine.idPrefix.count + EventID.textLength,
            bytes.starts(with: EventLine.idPrefix)
        else { return nil }
        return bytes[start..<start + EventID.textLength].withUnsafeBufferPointer { EventID(text: $0) }
    }

    static let idPrefix = Array(#"{"id":""#.utf8)
}
