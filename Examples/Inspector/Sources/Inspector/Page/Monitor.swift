import Sluice
import StoreFiles

/// Follows a folder, and tells all open pages about it.
///
/// Everything that it keeps or sends is bounded: a page that is slow, or a host that tracks more than a person can read,
/// loses rows, but no counts. Events whose segment the host removes between two polls are missing in the counts too.
actor Monitor {
    /// A server-sent event.
    typealias Frame = [UInt8]

    private enum Limits {
        /// The rows of one poll.
        static let rows = 200
        /// The rows for a page that connects.
        static let recentRows = 500
        static let bytes = 2_097_152
        static let deadLetters = 200
        /// As many as a page keeps rows.
        static let deadLetterIDs = 2_000
        /// The frames that wait for a slow page.
        static let frames = 64
    }

    private let welcome: Frame
    private let receiver: Receiver?
    private var received: Receiver.Report?
    private var refusedFrame: Frame = []
    private var follower: StoreFollower
    private var isFirst = true
    private var polls = 0
    private var running: Set<String> = []
    private var routes: [RouteSummary] = []
    private var recent = Recent<AppendedEvent>(limit: Limits.recentRows, bytes: Limits.bytes)
    private var appended = 0
    private var deadLetters: [String: Int] = [:]
    private var rejected = 0
    private var deadLetterVersion: [[Int]]?
    private var deadLetterFrame: Frame = []
    private var damagedDeadLetters = 0
    private var deadLetterProblem: FileProblem?
    private var problem: FileProblem?
    private var pages: [Int: AsyncStream<Frame>.Continuation] = [:]
    private var lastPage = 0

    init(_ folder: StoreFolder, destination: Destination?, receiver: Receiver? = nil) {
        follower = StoreFollower(folder, countsAll: true)
        self.receiver = receiver
        welcome = MonitorFrame.welcome(
            folder: folder, destination: destination, receives: receiver != nil,
            since: PipelineEnvironment.systemTime.wallTime())
    }

    /// Polls the folder five times per second, until the task is cancelled.
    func run() async throws {
        while true {
            await lookAtReceiver()
            poll()
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Returns the frames for a page that has just connected: the state so far, then each change.
    func connect() -> AsyncStream<Frame> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Frame.self, bufferingPolicy: .bufferingNewest(Limits.frames))
        lastPage += 1
        let page = lastPage
        continuation.onTermination = { _ in Task { await self.disconnect(page) } }
        pages[page] = continuation
        continuation.yield(welcome)
        let events = recent.elements
        continuation.yield(MonitorFrame.rows(events, skipped: 0))
        for frame in [deadLetterFrame, refusedFrame] where !frame.isEmpty { continuation.yield(frame) }
        continuation.yield(MonitorFrame.removed(Set(events.map(\.segment)).subtracting(present)))
        return stream
    }

    private func disconnect(_ page: Int) {
        pages[page] = nil
    }

    /// The newest events that are not in the folder any more.
    var formerEvents: [AppendedEvent] {
        let present = present
        return recent.elements.filter { !present.contains($0.segment) }
    }

    private var present: Set<String> { Set(follower.directories.flatMap(\.segments).map(\.shortName)) }

    private func lookAtReceiver() async {
        guard let receiver else { return }
        let report = await receiver.report
        guard report.refusedRequests != received?.refusedRequests else { return received = report }
        received = report
        refusedFrame = MonitorFrame.refused(await receiver.refusals)
        send(refusedFrame)
    }

    /// Looks for changes once.
    func poll() {
        var fresh = Recent<AppendedEvent>(limit: Limits.rows, bytes: Limits.bytes)
        // A page that opens later shows more events than the ones of one poll.
        var first = Recent<AppendedEvent>(limit: Limits.recentRows, bytes: Limits.bytes)
        let isFirst = isFirst
        do throws(FileProblem) {
            try follower.poll { event in
                let (bytes, time) = (event.line?.bytes.count ?? 0, event.time?.milliseconds ?? 0)
                fresh.append(event, bytes: bytes, time: time)
                if isFirst { first.append(event, bytes: bytes, time: time) }
            }
            problem = follower.problems.first
        } catch {
            problem = error
        }
        if !isFirst { appended += fresh.added }
        let events = isFirst ? first.elements : fresh.elements
        for event in events {
            recent.append(event, bytes: event.line?.bytes.count ?? 0, time: event.time?.milliseconds ?? 0)
        }
        if !events.isEmpty { send(MonitorFrame.rows(events, skipped: isFirst ? 0 : fresh.added - events.count)) }
        if polls % 5 == 0 {
            running = Set(follower.directories.filter(\.isRunning).map(\.name))
            routes = RouteSummary.all(of: follower.directories)
        }
        readDeadLetters()
        // After the dead letters: the segment of a rejected event disappears too.
        let removed = Set(follower.removedSegments.map(\.shortName))
        if !removed.isEmpty { send(MonitorFrame.removed(removed)) }
        send(MonitorFrame.counts(counts))
        self.isFirst = false
        polls += 1
    }

    private func send(_ frame: Frame) {
        for page in pages.values { page.yield(frame) }
    }

    private func readDeadLetters() {
        let version = DeadLetterList.version(of: follower.directories)
        guard version != deadLetterVersion else { return }
        deadLetterVersion = version
        var letters = Recent<[UInt8]>(limit: Limits.deadLetters, bytes: Limits.bytes)
        var keys = Recent<String>(limit: Limits.deadLetterIDs, bytes: .max / 2)
        var groups = DeadLetterGroups()
        var counts: [String: Int] = [:]
        let list = DeadLetterList(of: follower.directories) { directory, letter in
            let (route, time) = (directory.route ?? "", letter?.date.milliseconds ?? 0)
            if let id = letter?.event.id { keys.append("\(route)/\(id)", bytes: 0, time: time) }
            groups.add(letter, of: route)
            counts[route, default: 0] += 1
            let row = EventRow.json(of: letter, in: directory)
            letters.append(row, bytes: row.count, time: time)
        }
        damagedDeadLetters = list.damaged
        deadLetterProblem = list.problems.first
        if !isFirst { rejected += max(0, letters.added - deadLetters.values.reduce(0, +)) }
        deadLetters = counts
        deadLetterFrame = MonitorFrame.dead(groups.newestFirst, letters.elements, keys: keys.elements)
        send(deadLetterFrame)
    }

    private var counts: MonitorFrame.Counts {
        var counts = MonitorFrame.Counts()
        for directory in follower.directories {
            let events = directory.segments.reduce(0) { $0 + follower.events(in: $1) }
            if let route = directory.route {
                counts.waiting[route, default: 0] += events
            } else {
                counts.arrived += events
            }
        }
        let next = nextSegments
        counts.next = next.map(\.shortName)
        counts.inFlight = next.reduce(0) { $0 + follower.events(in: $1) }
        counts.routes = routes
        counts.deadLetters = deadLetters
        // A segment also disappears when its events were rejected, and these are dead letters now.
        counts.delivered = max(0, follower.removed - rejected)
        counts.appended = appended
        counts.damaged = follower.damaged + damagedDeadLetters
        counts.problem = (problem ?? deadLetterProblem)?.description
        counts.received = received
        return counts
    }

    /// The segments that running processes are sending, or send next: the oldest closed one of the highest priority. The
    /// files don't show whether a request has started. A route that waits, or has made no attempt, sends none.
    private var nextSegments: [Segment] {
        let sending = Set(routes.filter { $0.state == "ready" }.map(\.name))
        let directories = follower.directories.filter { running.contains($0.name) && sending.contains($0.route ?? "") }
        return directories.compactMap { directory in
            directory.segments.filter { !directory.mayGrow($0) }.min {
                ($1.priority, $0.sequence) < ($0.priority, $1.sequence)
            }
        }
    }
}
