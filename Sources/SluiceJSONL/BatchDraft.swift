internal import Sluice

/// A segment of a batch, and its events.
struct BatchPart {
    let segment: Segment
    private let contents: SegmentReader.Contents
    /// Where the next rejected event probably is: they come in order.
    private var next = 0

    init(_ segment: Segment, _ contents: SegmentReader.Contents) {
        self.segment = segment
        self.contents = contents
    }

    var events: [EventLine] { contents.lines }

    /// Settles an event.
    ///
    /// - Returns: its place in the file, to be marked. Nil if the event is settled or rejected already.
    func settle(_ index: Int) -> LinePlace? {
        let place = contents.places[index]
        return segment.gone.insert(place).inserted ? place : nil
    }

    /// Rejects an event.
    ///
    /// - Returns: the id of its dead letter, and the place to mark. Nil if there is no such event, or each one is settled or
    ///   rejected already.
    mutating func reject(_ event: EventLine) -> (id: DeadLetter.ID, mark: LinePlace)? {
        let order = [next..<events.count, 0..<next].joined()
        for index in order where events[index] == event {
            guard let mark = settle(index) else { continue }
            next = index + 1
            return (DeadLetter.ID(event.bytes, at: mark, in: segment.name), mark)
        }
        return nil
    }
}

/// A batch that is put together: the events of one segment, or of several small ones.
struct BatchDraft {
    /// The requested size.
    let size: BatchSize
    private(set) var parts: [BatchPart] = []
    /// Segments are joined up to this size.
    private let limit: BatchSize
    private(set) var count = 0
    private var bytes = 0

    /// Joined segments have at most `bytes`, which leaves the store something to evict.
    init(_ size: BatchSize, joinedUpTo bytes: Int) {
        self.size = size
        limit = BatchSize(events: size.events, bytes: min(size.bytes, bytes))
    }

    var isFull: Bool { !hasRoom(for: 1, 1) }

    func hasRoom(for count: Int, _ bytes: Int) -> Bool {
        self.count + count <= limit.events && self.bytes + bytes <= limit.bytes
    }

    /// Adds a segment. Returns false, and does nothing, if it doesn't fit; the first one always does.
    mutating func add(_ part: BatchPart) -> Bool {
        guard parts.isEmpty || hasRoom(for: part.events.count, part.segment.eventBytes) else { return false }
        parts.append(part)
        count += part.events.count
        bytes += part.segment.eventBytes
        return true
    }
}
