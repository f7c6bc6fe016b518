internal import Sluice

/// A closed file of events: one batch, and one unit of deletion. ``SegmentIndex`` keeps its counts.
final class Segment {
    enum Condition: Equatable {
        case waiting
        case handedOut
        /// Its events are accounted for. Its file may still exist.
        case retired
    }

    let name: SegmentName
    /// Milliseconds in the time of ``StoreClock``.
    let created: Int64
    let directory: String
    /// The part of the file that counts. A torn line that could not be cut off may follow.
    let fileBytes: Int
    /// Whether the age limit applies: only if its age can be told from its name.
    var hasPlausibleAge: Bool
    var readFailures = 0
    fileprivate(set) var condition = Condition.waiting
    /// Nil until someone has read a segment of an earlier process.
    fileprivate(set) var events: Int?
    /// The length of the events' own lines, once they are counted.
    fileprivate(set) var eventBytes: Int

    init(_ name: SegmentName, in directory: String, fileBytes: Int) {
        self.name = name
        self.directory = directory
        self.fileBytes = fileBytes
        created = name.created.milliseconds
        hasPlausibleAge = name.created != SegmentName.unknownTime
        eventBytes = 0
    }

    init(closing writer: SegmentWriter) {
        name = writer.name
        directory = writer.directory.path
        fileBytes = writer.usage.fileBytes
        created = writer.created.milliseconds
        hasPlausibleAge = true
        events = writer.usage.events
        eventBytes = writer.usage.eventBytes
    }

    var path: String { "\(directory)/\(name.text)" }

    fileprivate var lane: Int { Int(name.priority.rawValue) }

    /// Whether it comes before `other` within their priority. The directory decides between processes that ran at the
    /// same time.
    func precedes(_ other: Segment) -> Bool {
        if name < other.name { return true }
        return name == other.name && directory < other.directory
    }
}

/// The number and size of stored events.
struct Usage: Equatable {
    var events = 0
    var eventBytes = 0
    /// The size of files whose events nobody has counted yet.
    var unreadBytes = 0
    /// The size of all files, including retired ones that still exist.
    var fileBytes = 0

    static func + (left: Usage, right: Usage) -> Usage {
        Usage(
            events: left.events + right.events, eventBytes: left.eventBytes + right.eventBytes,
            unreadBytes: left.unreadBytes + right.unreadBytes, fileBytes: left.fileBytes + right.fileBytes)
    }
}

/// The closed segments of a store in the order of delivery, and their sizes.
///
/// It touches no files and reads no clocks. Its costs don't depend on the number of segments, except for a binary search,
/// and for closing the gap when a segment is removed that is not the oldest one.
struct SegmentIndex {
    private struct Lane {
        /// A slice, because removing its first element moves no others.
        var segments: ArraySlice<Segment> = []
        var waitingBytes = 0
    }

    /// By the priority's raw value.
    private var lanes = Event.Priority.allCases.map { _ in Lane() }
    private(set) var usage = Usage()

    var segments: [Segment] { lanes.flatMap(\.segments) }

    /// Adds a waiting segment at its place in the order.
    mutating func insertSorted(_ segment: Segment) {
        segment.condition = .waiting
        lanes[segment.lane].segments.insert(segment, at: position(of: segment))
        lanes[segment.lane].waitingBytes += segment.fileBytes
        usage.fileBytes += segment.fileBytes
        usage.events += segment.events ?? 0
        usage.eventBytes += segment.eventBytes
        if segment.events == nil { usage.unreadBytes += segment.fileBytes }
    }

    /// Adds a segment again that was given up. Its events were reported as lost, so they are counted when it is read.
    mutating func insertUnread(_ segment: Segment) {
        segment.events = nil
        segment.eventBytes = 0
        insertSorted(segment)
    }

    /// The index of the first segment that doesn't come before `segment`.
    private func position(of segment: Segment) -> Int {
        let segments = lanes[segment.lane].segments
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

    /// Returns the oldest segment of a priority that is not handed out: the next one to deliver or to evict.
    func firstWaiting(_ priority: Event.Priority) -> Segment? {
        lanes[Int(priority.rawValue)].segments.first { $0.condition == .waiting }
    }

    mutating func handOut(_ segment: Segment) {
        lanes[segment.lane].waitingBytes -= segment.fileBytes
        segment.condition = .handedOut
    }

    /// Lets a segment wait again that could not be read.
    mutating func takeBack(_ segment: Segment) {
        lanes[segment.lane].waitingBytes += segment.fileBytes
        segment.condition = .waiting
    }

    /// Corrects the number and size of a segment's events.
    mutating func setContents(of segment: Segment, events: Int, eventBytes: Int) {
        if segment.events == nil { usage.unreadBytes -= segment.fileBytes }
        usage.events += events - (segment.events ?? 0)
        usage.eventBytes += eventBytes - segment.eventBytes
        segment.events = events
        segment.eventBytes = eventBytes
    }

    /// Removes a segment and its events. Its file counts until ``subtractFromUsage(_:)``.
    mutating func retire(_ segment: Segment) {
        if segment.condition == .waiting { lanes[segment.lane].waitingBytes -= segment.fileBytes }
        let position = position(of: segment)
        if position == lanes[segment.lane].segments.startIndex {
            lanes[segment.lane].segments.removeFirst()
        } else {
            lanes[segment.lane].segments.remove(at: position)
        }
        usage.events -= segment.events ?? 0
        usage.eventBytes -= segment.eventBytes
        if segment.events == nil { usage.unreadBytes -= segment.fileBytes }
        segment.condition = .retired
    }

    /// Stops counting the file of a retired segment.
    mutating func subtractFromUsage(_ segment: Segment) {
        // mutant: count-evicted-bytes
        usage.fileBytes -= segment.fileBytes
    }

    /// The size of the segments of a priority that may be evicted.
    func evictableBytes(_ priority: Event.Priority) -> Int { lanes[Int(priority.rawValue)].waitingBytes }

    /// Excludes segments from the age limit whose names can't tell their age.
    ///
    /// A gap between two segments, or between the newest one and now, that is longer than the age limit means that the
    /// wall clock was wrong at some time. Nothing from before such a gap may expire.
    func markImplausibleAges(at now: Timestamp, maximumAge: Duration) {
        var later = now.milliseconds
        var isPlausible = true
        for segment in segments.sorted(by: { $0.created > $1.created }) {
            if later - segment.created > maximumAge.wholeMilliseconds { isPlausible = false }
            // mutant: believe-clocks-of-neighbours
            if !isPlausible { segment.hasPlausibleAge = false }
            later = segment.created
        }
    }
}
