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
    private var follower: StoreFollower
    private var isFirst = true
    private var polls = 0
    private var running: Set<String> = []
    private var statuses: [(process: String, HostStatus)] = []
    private var recent = Recent<(row: [UInt8], segment: String)>(limit: Limits.recentRows, bytes: Limits.bytes)
    private var appended = 0
    private var deadLetters = 0
    private var rejected = 0
    private var deadLetterVersion: [[Int]]?
    private var deadLetterFrame: Frame = []
    private var damagedDeadLetters = 0
    private var deadLetterProblem: FileProblem?
    private var problem: FileProblem?
    private var pages: [Int: AsyncStream<Frame>.Continuation] = [:]
    private var lastPage = 0

    init(_ folder: StoreFolder, destination: Destination?) {
        follower = StoreFollower(folder, countsAll: true)
        welcome = Monitor.frame("welcome") { writer in
            writer["folder"] = folder.path
            writer["to"] = destination?.url
            writer["format"] = destination?.formatName
        }
    }

    /// Polls the folder five times per second, until the task is cancelled.
    func run() async throws {
        while true {
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
        let rows = recent.elements
        continuation.yield(Monitor.rows(rows.map(\.row), skipped: 0))
        if !deadLetterFrame.isEmpty { continuation.yield(deadLetterFrame) }
        let present = Set(follower.directories.flatMap(\.segments).map(\.shortName))
        continuation.yield(Monitor.removed(Set(rows.map(\.segment)).subtracting(present)))
        return stream
    }

    private func disconnect(_ page: Int) {
        pages[page] = nil
    }

    /// Looks for changes once.
    func poll() {
        var fresh = Recent<AppendedEvent>(limit: Limits.rows, bytes: Limits.bytes)
        do throws(FileProblem) {
            try follower.poll { fresh.append($0, bytes: $0.line?.bytes.count ?? 0) }
            problem = follower.problems.first
        } catch {
            problem = error
        }
        if !isFirst { appended += fresh.added }
        let events = fresh.elements
        let rows = events.map { EventRow.json(of: $0) }
        for (row, event) in zip(rows, events) { recent.append((row, event.segment), bytes: row.count) }
        if !rows.isEmpty { send(Monitor.rows(rows, skipped: isFirst ? 0 : fresh.added - rows.count)) }
        if polls % 5 == 0 {
            let directories = follower.directories.filter(\.isRunning)
            running = Set(directories.map(\.name))
            statuses = directories.compactMap { directory in directory.status.map { (directory.name, $0) } }
        }
        readDeadLetters()
        // After the dead letters: the segment of a rejected event disappears too.
        let removed = Set(follower.removedSegments.map(\.shortName))
        if !removed.isEmpty { send(Monitor.removed(removed)) }
        send(counts)
        isFirst = false
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
        var ids = Recent<String>(limit: Limits.deadLetterIDs, bytes: .max / 2)
        let list = DeadLetterList(of: follower.directories) { process, letter in
            if let id = letter?.event.id { ids.append(id.description, bytes: 0) }
            let row = EventRow.json(of: letter, process: process)
            letters.append(row, bytes: row.count)
        }
        damagedDeadLetters = list.damaged
        deadLetterProblem = list.problems.first
        if !isFirst { rejected += max(0, letters.added - deadLetters) }
        deadLetters = letters.added
        let rows = letters.elements
        let allIDs = ids.elements
        deadLetterFrame = Monitor.frame("dead") { writer in
            writer.array("letters", rows) { $0.raw($1) }
            writer.array("ids", allIDs) { $0.string($1) }
        }
        send(deadLetterFrame)
    }

    private var counts: Frame {
        Monitor.frame("counts") { writer in
            writer["waiting"] = PropertyValue.int(follower.waiting)
            let next = nextSegments
            writer["inFlight"] = PropertyValue.int(next.reduce(0) { $0 + follower.events(in: $1) })
            writer.array("next", next) { $0.string($1.shortName) }
            writer.array("statuses", statuses) { writer, status in
                writer.object { Monitor.write(status.1, of: status.process, to: &$0) }
            }
            // A segment also disappears when its events were rejected, and these are dead letters now.
            writer["delivered"] = PropertyValue.int(max(0, follower.removed - rejected))
            writer["deadLetters"] = PropertyValue.int(deadLetters)
            writer["appended"] = PropertyValue.int(appended)
            writer["damaged"] = PropertyValue.int(follower.damaged + damagedDeadLetters)
            writer["running"] = PropertyValue.int(running.count)
            writer["problem"] = (problem ?? deadLetterProblem)?.description
        }
    }

    /// The segments that running processes are sending, or send next: the oldest closed one of the highest priority. The
    /// files don't show whether a request has started.
    private var nextSegments: [Segment] {
        let idle = statuses.filter { ["paused", "noNetwork"].contains($0.1.state) }.map { $0.process }
        return follower.directories.filter { running.contains($0.name) && !idle.contains($0.name) }.compactMap {
            directory in
            directory.segments.filter { !directory.mayGrow($0) }.min {
                ($1.priority, $0.sequence) < ($0.priority, $1.sequence)
            }
        }
    }

    private static func write(_ status: HostStatus, of process: String, to writer: inout JSONWriter) {
        writer["process"] = String(process.prefix(8))
        writer["route"] = status.route
        writer["state"] = status.state
        writer["at"] = PropertyValue.int(Int(status.at))
        writer["nextAttempt"] = status.nextAttempt.map { .int(Int($0)) }
        writer["lastStatus"] = status.lastStatus.map { .int($0) }
        writer["lastFailure"] = status.lastFailure
    }

    private static func removed(_ segments: Set<String>) -> Frame {
        frame("removed") { $0.array("segments", segments.sorted()) { $0.string($1) } }
    }

    private static func rows(_ rows: [[UInt8]], skipped: Int) -> Frame {
        frame("rows") { writer in
            writer["skipped"] = PropertyValue.int(skipped)
            writer.array("rows", rows) { $0.raw($1) }
        }
    }

    /// JSON contains no newline, so one line of data is enough.
    private static func frame(_ name: String, _ members: (inout JSONWriter) -> Void) -> Frame {
        var writer = JSONWriter()
        writer.object(members)
        return Array("event: \(name)\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8)
    }
}
