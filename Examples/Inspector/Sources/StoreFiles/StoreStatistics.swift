import Foundation
package import Sluice

/// The counts of everything in a store's folder.
package struct StoreStatistics {
    /// The counts of the events with one name.
    package struct NameCount {
        package var waiting = 0
        package var deadLetters = 0
    }

    /// The counts of the directory of one process.
    package struct Process {
        package let name: String
        /// Nil for a day of collected events.
        package let route: String?
        package let isRunning: Bool
        package var waiting = 0
        package var deadLetters = 0
        /// The size of its segments and dead letters.
        package var bytes = 0
    }

    /// The upper limits of the ages in ``ages``. The last one has no limit.
    package static let ageLimits: [(name: String, seconds: Int64)] = [
        ("under 1 minute", 60), ("under 1 hour", 3_600), ("under 1 day", 86_400), ("under 7 days", 604_800),
        ("7 days or more", .max),
    ]

    package private(set) var processes: [Process] = []
    /// What the hosts tell about their routes.
    package let routes: [RouteSummary]
    package private(set) var waitingBytes = 0
    package private(set) var deadLetterBytes = 0
    /// The damaged lines of segments and of dead letters.
    package private(set) var damaged = 0
    /// Events and dead letters that only the host can read. They have no name and no age.
    package private(set) var encrypted = 0
    package private(set) var priorities: [Event.Priority: Int] = [:]
    /// The number of waiting events for each of ``ageLimits``, by the events' own times.
    package private(set) var ages = [Int](repeating: 0, count: StoreStatistics.ageLimits.count)
    package private(set) var oldest: Timestamp?
    /// Files and directories without permission.
    package private(set) var problems: [FileProblem] = []

    /// By the name in JSON, because decoding it for each event takes long.
    private var byName: [ArraySlice<UInt8>: NameCount] = [:]
    private var nameBytes = 0
    private let now: Timestamp

    /// Bounds the memory if a host puts variables into names.
    private static let mostNames = 10_000
    private static let mostNameBytes = 1_048_576

    /// Reads the whole folder, one block at a time.
    ///
    /// - Throws: A ``FileProblem`` if the folder itself can't be listed.
    package init(of folder: StoreFolder, at now: Timestamp) throws(FileProblem) {
        self.now = now
        var reader = LineReader()
        let directories = try folder.processes()
        routes = RouteSummary.all(of: directories)
        for directory in directories {
            var process = Process(name: directory.name, route: directory.route, isRunning: directory.isRunning)
            problems += directory.problems
            for segment in directory.segments { add(segment, of: directory, to: &process, &reader) }
            for path in directory.deadLetterFiles { addDeadLetters(path, to: &process, &reader) }
            processes.append(process)
        }
    }

    package var waiting: Int { processes.reduce(0) { $0 + $1.waiting } }
    package var deadLetters: Int { processes.reduce(0) { $0 + $1.deadLetters } }

    /// Whether the folder has nothing to count, and no route has a state.
    package var isEmpty: Bool {
        waiting + deadLetters + damaged + encrypted == 0 && routes.allSatisfy { $0.status == nil }
    }

    /// The counts of a route.
    package func counts(of route: String) -> (waiting: Int, deadLetters: Int) {
        processes.filter { $0.route == route }.reduce((0, 0)) { ($0.0 + $1.waiting, $0.1 + $1.deadLetters) }
    }

    /// The counts by name, the most frequent one first.
    package var names: [(name: String, count: NameCount)] {
        byName.map { (StoreStatistics.decoded($0.key), $0.value) }
            .sorted { ($1.count.waiting, $0.name) < ($0.count.waiting, $1.name) }
    }

    private mutating func add(
        _ segment: Segment, of directory: ProcessDirectory, to process: inout Process, _ reader: inout LineReader
    ) {
        var waiting = 0
        guard
            let (end, rest) = read(
                segment.path, &reader,
                { statistics, line throws(Flaw) in
                    let header = try segment.header(line)
                    waiting += 1
                    statistics.count(header)
                })
        else { return }
        process.waiting += waiting
        process.bytes += end + rest
        waitingBytes += end + rest
        if !segment.isCollected { priorities[segment.priority, default: 0] += waiting }
        if rest > 0, !process.isRunning || !directory.mayGrow(segment) { damaged += 1 }
    }

    private mutating func addDeadLetters(_ path: String, to process: inout Process, _ reader: inout LineReader) {
        var letters = 0
        guard
            let (end, rest) = read(
                path, &reader,
                { statistics, line throws(Flaw) in
                    let letter = try DeadLetterLine(line)
                    letters += 1
                    guard let header = letter.flatMap({ EventHeader($0.event.bytes) }) else {
                        return statistics.encrypted += 1
                    }
                    statistics.count(header) { $0.deadLetters += 1 }
                })
        else { return }
        process.deadLetters += letters
        process.bytes += end + rest
        deadLetterBytes += end + rest
    }

    /// Reads a file, and counts its damaged lines. Returns nil if it is gone or can't be read.
    private mutating func read(
        _ path: String, _ reader: inout LineReader, _ body: (inout Self, Line) throws(Flaw) -> Void
    ) -> (end: Int, rest: Int)? {
        do throws(FileProblem) {
            return try reader.readAll(of: path) { _, line in
                if line.hasNothing { return }
                do throws(Flaw) {
                    try body(&self, line)
                } catch {
                    damaged += 1
                }
            }.map { ($0.end, $0.rest) }
        } catch {
            problems.append(error)
            return nil
        }
    }

    private mutating func count(_ header: EventHeader?) {
        guard let header else {
            encrypted += 1
            return
        }
        count(header) { $0.waiting += 1 }
        // An event can have any time.
        let (difference, overflows) = now.milliseconds.subtractingReportingOverflow(header.time.milliseconds)
        let age = (overflows ? .max : difference) / 1_000
        if let index = StoreStatistics.ageLimits.firstIndex(where: { age < $0.seconds }) { ages[index] += 1 }
        oldest = min(oldest ?? header.time, header.time)
    }

    private mutating func count(_ header: EventHeader, _ add: (inout NameCount) -> Void) {
        if byName[header.name] != nil {
            add(&byName[header.name, default: NameCount()])
        } else if byName.count < StoreStatistics.mostNames,
            nameBytes + header.name.count <= StoreStatistics.mostNameBytes
        {
            nameBytes += header.name.count
            // A slice would keep the whole block.
            add(&byName[Array(header.name)[...], default: NameCount()])
        } else {
            add(&byName[Array("(other names)".utf8)[...], default: NameCount()])
        }
    }

    private static func decoded(_ name: ArraySlice<UInt8>) -> String {
        do {
            return try JSONDecoder().decode(String.self, from: Data(Array("\"".utf8) + name + Array("\"".utf8)))
        } catch {
            return String(decoding: name, as: UTF8.self)
        }
    }
}
