internal import Sluice

/// A closed file of one lane, and one unit of deletion. ``SegmentIndex`` keeps its counts.
final class Segment {
    enum Condition: Equatable {
        case waiting
        case handedOut
        /// It can't be read, and is not delivered. Its events were reported as lost.
        case givenUp
        /// Its lines are accounted for. Its file may still exist.
        case retired
    }

    fileprivate(set) var name: SegmentName
    /// By the continuous clock, which may have started later.
    let created: Duration
    fileprivate(set) var directory: String
    /// Stored, because settling a batch needs it twice, and making it takes 3,000 instructions.
    fileprivate(set) var path: String
    /// Whether an earlier process has written it.
    let isEarlier: Bool
    /// The part of the file that counts, with lines of others. A torn line that could not be cut off may follow.
    fileprivate(set) var fileBytes: Int
    var readFailures = 0
    /// Kept open, for the next segment. See ``SpareFiles``.
    var file: OpenFile?
    /// A segment waits as soon as it is in the index. One without lines never is.
    fileprivate(set) var condition = Condition.retired
    /// The places of lines of a batch that were settled, rejected or erased.
    var gone: Set<LinePlace> = []
    /// The number of its events or dead letters. Nil until a segment of an earlier process is read.
    fileprivate(set) var count: Int?
    /// The length of the events' own lines, once they are counted.
    fileprivate(set) var eventBytes: Int
    /// Its dead letters, once they are read.
    fileprivate(set) var letters: [DeadLetter.ID: LinePlace]?
    /// Whether the file has lines that aren't in ``letters``: replayed, discarded or damaged ones.
    fileprivate(set) var hasRemovedLines = false

    /// `usage` counts the lines that this process has written to it. Nil for a segment of an earlier process.
    init(
        _ name: SegmentName, created: Duration, in directory: String, at path: String, fileBytes: Int,
        usage: Usage? = nil
    ) {
        self.name = name
        self.created = created
        self.directory = directory
        self.path = path
        self.fileBytes = fileBytes
        isEarlier = usage == nil
        count = usage?.count
        eventBytes = usage?.eventBytes ?? 0
    }

    var lane: Lane { name.lane }

    /// Its part of the usage of the store. A file counts as long as it exists, and its lines as long as they are the store's.
    /// All bytes are unread until the lines are counted.
    fileprivate var usage: Usage {
        guard condition == .waiting || condition == .handedOut else { return Usage(fileBytes: fileBytes) }
        return Usage(
            count: count ?? 0, eventBytes: eventBytes, unreadBytes: count == nil ? fileBytes : 0, fileBytes: fileBytes)
    }

    /// Whether it can make room for new lines.
    fileprivate var isEvictable: Bool { condition == .waiting || condition == .givenUp }

    /// Whether it comes before `other` within their lane. The directory decides between processes that ran at the same
    /// time.
    func precedes(_ other: Segment) -> Bool {
        if name < other.name { return true }
        return name == other.name && directory < other.directory
    }
}

/// The closed segments of a store in the order of their lanes, and their sizes.
///
/// It touches no files and reads no clocks. Its costs don't depend on the number of segments, except for a binary search,
/// for closing the gap when a segment is removed that is not the oldest one, and for a search when segments must be evicted.
struct SegmentIndex {
    /// By lane. Slices, because removing the first element moves no others.
    private var queues = Lane.allCases.map { _ in ArraySlice<Segment>() }
    /// Of the waiting events.
    private(set) var events = Usage()
    private(set) var deadLetters = Usage()

    /// The size of all files, including retired ones that still exist.
    var fileBytes: Int { events.fileBytes + deadLetters.fileBytes }

    /// All segments, dead letters first.
    var segments: [Segment] { queues.flatMap(\.self) }

    /// The segments of a lane, the oldest first.
    func segments(_ lane: Lane) -> ArraySlice<Segment> { queues[lane.rawValue] }

    /// The segments that were given up because they can't be read.
    var unreadable: [Segment] { segments.filter { $0.condition == .givenUp } }

    /// The index of the first segment that doesn't come before `segment`.
    private func position(of segment: Segment) -> Int {
        let segments = segments(segment.lane)
        // Nearly every new segment is the last one.
        guard let last = segments.last, !last.precedes(segment) else { return segments.endIndex }
        var range = segments.startIndex..<segments.endIndex - 1
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                segments[middle].precedes(segment) ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    private mutating func insert(_ segment: Segment) {
        queues[segment.lane.rawValue].insert(segment, at: position(of: segment))
    }

    private mutating func remove(_ segment: Segment) {
        let lane = segment.lane.rawValue
        let position = position(of: segment)
        if position == queues[lane].startIndex {
            queues[lane].removeFirst()
        } else {
            queues[lane].remove(at: position)
        }
    }

    // MARK: The way of a segment

    /// Adds a waiting segment at its place in the order.
    mutating func insertSorted(_ segment: Segment) {
        insert(segment)
        change(segment.lane) { $0.fileBytes += segment.fileBytes }
        update(segment) { $0.condition = .waiting }
    }

    mutating func handOut(_ segment: Segment) { update(segment) { $0.condition = .handedOut } }

    /// Returns a segment to the waiting ones, because it could not be read, doesn't fit into a batch, or is read once more.
    mutating func takeBack(_ segment: Segment) { update(segment) { $0.condition = .waiting } }

    /// Gives up a waiting segment that can't be read, after its events were reported as lost. They are counted when it is read or
    /// removed.
    mutating func giveUp(_ segment: Segment) {
        update(segment) { ($0.condition, $0.count, $0.eventBytes) = (.givenUp, nil, 0) }
    }

    /// Removes a segment and its lines. Its file counts until ``subtractFromUsage(_:)``.
    mutating func retire(_ segment: Segment) {
        remove(segment)
        update(segment) { $0.condition = .retired }
    }

    /// Stops counting the file of a retired segment.
    mutating func subtractFromUsage(_ segment: Segment) {
        change(segment.lane) { $0.fileBytes -= segment.fileBytes }
    }

    /// Corrects the number and size of a segment's events or dead letters.
    mutating func setContents(of segment: Segment, count: Int, eventBytes: Int) {
        update(segment) { ($0.count, $0.eventBytes) = (count, eventBytes) }
    }

    /// Updates a waiting segment whose file was moved to another directory.
    mutating func moved(_ segment: Segment, to directory: InstanceDirectory, as name: SegmentName) {
        remove(segment)
        segment.directory = directory.path
        segment.path = directory.path(of: name)
        segment.name = name
        insert(segment)
    }

    /// Changes a segment, and the usage with it.
    private mutating func update(_ segment: Segment, _ body: (Segment) -> Void) {
        let former = segment.usage
        body(segment)
        change(segment.lane) { $0 = $0 - former + segment.usage }
    }

    private mutating func change(_ lane: Lane, _ body: (inout Usage) -> Void) {
        if lane.holdsEvents { body(&events) } else { body(&deadLetters) }
    }

    // MARK: Choosing

    /// Returns the oldest segment of a lane that is not handed out: the next one to deliver.
    func firstWaiting(_ lane: Lane) -> Segment? { segments(lane).first { $0.condition == .waiting } }

    /// Returns the next segment of a lane to evict: one that can't be read, or the oldest one that waits.
    func firstEvictable(_ lane: Lane) -> Segment? {
        segments(lane).first { $0.condition == .givenUp } ?? firstWaiting(lane)
    }

    /// The size of the segments of a lane that may be evicted. If it is at least `limit`, any number from there on is returned.
    func evictableBytes(_ lane: Lane, upTo limit: Int) -> Int {
        var bytes = 0
        for segment in segments(lane) where segment.isEvictable {
            if bytes >= limit { break }
            bytes += segment.fileBytes
        }
        return bytes
    }

    // MARK: Dead letters

    /// Notes the dead letters of a file. Its other lines are removed by the next rewrite.
    mutating func setLetters(of segment: Segment, _ letters: [DeadLetter.ID: LinePlace], hasOtherLines: Bool) {
        segment.letters = letters
        if hasOtherLines { segment.hasRemovedLines = true }
        setContents(of: segment, count: letters.count, eventBytes: 0)
    }

    /// Removes dead letters. Their lines stay in the file until it is rewritten.
    ///
    /// - Returns: the number of letters that existed.
    mutating func removeLetters(_ ids: Set<DeadLetter.ID>, from segment: Segment) -> Int {
        guard segment.condition == .waiting, let letters = segment.letters else { return 0 }
        let left = letters.filter { !ids.contains($0.key) }
        if left.count < letters.count { setLetters(of: segment, left, hasOtherLines: true) }
        return letters.count - left.count
    }

    /// Updates a segment whose file has only these lines now.
    mutating func rewritten(_ segment: Segment, _ lines: [(key: DeadLetter.ID, value: LinePlace)]) {
        var (letters, end) = ([DeadLetter.ID: LinePlace](), 0)
        for (id, place) in lines {
            letters[id] = LinePlace(event: end..<end + place.event.count, checksum: place.checksum)
            end += place.line.count
        }
        update(segment) { $0.fileBytes = end }
        setLetters(of: segment, letters, hasOtherLines: false)
        segment.hasRemovedLines = false
    }
}
