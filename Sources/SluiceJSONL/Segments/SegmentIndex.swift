internal import Sluice

/// A closed file of one lane, and one unit of deletion. ``SegmentIndex`` keeps its counts.
final class Segment {
    enum Condition: Equatable {
        case waiting
        case handedOut
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

    /// Its lines. All bytes are unread until they are counted.
    fileprivate var lines: Usage {
        Usage(count: count ?? 0, eventBytes: eventBytes, unreadBytes: count == nil ? fileBytes : 0)
    }

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
/// and for closing the gap when a segment is removed that is not the oldest one.
struct SegmentIndex {
    private struct Queue {
        /// A slice, because removing its first element moves no others.
        var segments: ArraySlice<Segment> = []
        /// The size of the waiting segments and of the unreadable ones.
        var evictableBytes = 0
    }

    /// By lane.
    private var queues = Lane.allCases.map { _ in Queue() }
    /// Of the waiting events.
    private(set) var events = Usage()
    private(set) var deadLetters = Usage()
    /// The segments that were given up because they can't be read, in the order of the next attempts. Their files count, and
    /// their events don't.
    private(set) var unreadable: [Segment] = []

    /// The size of all files, including retired ones that still exist.
    var fileBytes: Int { events.fileBytes + deadLetters.fileBytes }

    /// All segments, dead letters first.
    var segments: [Segment] { queues.flatMap(\.segments) }

    /// The segments of a lane, the oldest first.
    func segments(_ lane: Lane) -> ArraySlice<Segment> { queues[lane.rawValue].segments }

    /// Adds a waiting segment at its place in the order.
    mutating func insertSorted(_ segment: Segment) {
        segment.condition = .waiting
        queues[segment.lane.rawValue].segments.insert(segment, at: position(of: segment))
        queues[segment.lane.rawValue].evictableBytes += segment.fileBytes
        change(segment.lane) { $0 = $0 + segment.lines + Usage(fileBytes: segment.fileBytes) }
    }

    /// Gives up a waiting segment that can't be read. Its file counts, and can be evicted.
    mutating func giveUp(_ segment: Segment) {
        retire(segment)
        unreadable.append(segment)
        queues[segment.lane.rawValue].evictableBytes += segment.fileBytes
    }

    /// Takes back a segment that was given up. Its events were reported as lost, so they are counted when it is read or
    /// removed.
    mutating func takeBackUnreadable(_ segment: Segment) {
        unreadable.removeAll { $0 === segment }
        queues[segment.lane.rawValue].evictableBytes -= segment.fileBytes
        subtractFromUsage(segment)
        segment.count = nil
        segment.eventBytes = 0
        insertSorted(segment)
    }

    private mutating func change(_ lane: Lane, _ body: (inout Usage) -> Void) {
        if lane.holdsEvents { body(&events) } else { body(&deadLetters) }
    }

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

    /// Returns the oldest segment of a lane that is not handed out: the next one to deliver.
    func firstWaiting(_ lane: Lane) -> Segment? {
        queues[lane.rawValue].segments.first { $0.condition == .waiting }
    }

    /// Returns the next segment of a lane to evict: one that can't be read, or the oldest one. It waits.
    mutating func firstEvictable(_ lane: Lane) -> Segment? {
        guard let segment = unreadable.first(where: { $0.lane == lane }) else { return firstWaiting(lane) }
        takeBackUnreadable(segment)
        return segment
    }

    mutating func handOut(_ segment: Segment) {
        queues[segment.lane.rawValue].evictableBytes -= segment.fileBytes
        segment.condition = .handedOut
    }

    /// Returns a segment to the waiting ones, because it could not be read or doesn't fit into a batch.
    mutating func takeBack(_ segment: Segment) {
        queues[segment.lane.rawValue].evictableBytes += segment.fileBytes
        segment.condition = .waiting
    }

    /// Corrects the number and size of a segment's events or dead letters.
    mutating func setContents(of segment: Segment, count: Int, eventBytes: Int) {
        let former = segment.lines
        segment.count = count
        segment.eventBytes = eventBytes
        change(segment.lane) { $0 = $0 - former + segment.lines }
    }

    /// Removes a segment and its lines. Its file counts until ``subtractFromUsage(_:)``.
    mutating func retire(_ segment: Segment) {
        remove(segment)
        change(segment.lane) { $0 = $0 - segment.lines }
        segment.condition = .retired
    }

    private mutating func remove(_ segment: Segment) {
        let lane = segment.lane.rawValue
        if segment.condition == .waiting { queues[lane].evictableBytes -= segment.fileBytes }
        let position = position(of: segment)
        if position == queues[lane].segments.startIndex {
            queues[lane].segments.removeFirst()
        } else {
            queues[lane].segments.remove(at: position)
        }
    }

    /// Stops counting the file of a retired segment.
    mutating func subtractFromUsage(_ segment: Segment) {
        change(segment.lane) { $0.fileBytes -= segment.fileBytes }
    }

    /// The size of the segments of a lane that may be evicted.
    func evictableBytes(_ lane: Lane) -> Int { queues[lane.rawValue].evictableBytes }

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
        setLetters(of: segment, letters, hasOtherLines: false)
        queues[segment.lane.rawValue].evictableBytes += end - segment.fileBytes
        change(segment.lane) { $0.fileBytes += end - segment.fileBytes }
        segment.fileBytes = end
        segment.hasRemovedLines = false
    }

    /// Updates a waiting segment whose file was moved to another directory.
    mutating func moved(_ segment: Segment, to directory: InstanceDirectory, as name: SegmentName) {
        remove(segment)
        segment.directory = directory.path
        segment.path = directory.path(of: name)
        segment.name = name
        queues[segment.lane.rawValue].segments.insert(segment, at: position(of: segment))
        queues[segment.lane.rawValue].evictableBytes += segment.fileBytes
    }
}
