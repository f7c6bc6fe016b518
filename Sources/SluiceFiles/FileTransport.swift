public import Sluice
import SluiceGzip

/// Writes each batch of events to a file of JSON lines, in a folder that other engines read: a lake.
///
/// ```swift
/// let pipeline = try Pipeline(delivery: .files) {
///     JSONLStore(at: queueDirectory, capacity: 100 << 20)
///     FileTransport(at: "/var/lake/events")
/// }
/// ```
///
/// DuckDB, ClickHouse, Spark, Polars and others read the files while they are written:
///
/// ```
/// /var/lake/events/date=2026-11-27/019ac3f0-6d2e-7bd1-b23c-0b6f5a6d1c0e-5d0c3a9b1e2f4a67-20000.ndjson.gz
/// ```
///
/// - An event's time decides on its folder, whatever the clock shows when the file is written. Times outside the years 1 to 9999
///   are in the first or the last folder.
/// - A file is complete and safe from a loss of power before it gets its name and its events are accepted. Readers that look for
///   `*.ndjson` or `*.ndjson.gz` never see a part of a file.
/// - A name has the id of the first event, a hash of all ids, and the number of events that were written. A batch that comes
///   once more, after its process was killed, finds its file: the events in it count as duplicates and aren't written again.
///   This also holds if more events follow in the batch. If the batch is another one, for example because the process was killed
///   while its store removed a part of a delivered batch, events can be in two files: count distinct ids if that matters.
/// - Any number of processes can write to one folder, and so can routes that get different events.
/// - If the folder can't be written to, for example because its disk is full, the events wait in their store, and a
///   ``Sluice/Diagnostic/Kind/paused`` diagnostic says why. A folder that was there before isn't made a second time: on a drive
///   that was unmounted, the files would be hidden later.
///
/// Use ``Sluice/DeliveryPolicy/files``, because large files are read faster. You can use a transport from any thread.
public final class FileTransport: Transport {
    struct State {
        var lake: Lake?
        var time: any TimeSource = PipelineEnvironment.systemTime
        /// The clocks at the opening.
        var start = (wall: Timestamp(milliseconds: 0), continuous: Duration.zero)
        var observer = TransportObserver()
        /// The day at which expired files were last removed.
        var lastExpiry: Timestamp?
        /// When the last batch was written, by the continuous clock.
        var lastBatch: Duration?
        /// The batches in a row that were small and came soon. Nil after the note about them.
        var smallBatches: Int? = 0
    }

    private let folder: String
    private let gzip: Bool
    let calendar: EventCalendar
    let maximumAge: Duration?
    private let files: any FileSystem
    private let deflater: Deflater?
    let state = Locked(State())

    /// Creates a transport. The arguments are validated when you build the pipeline.
    ///
    /// ```swift
    /// let lake = FileTransport(
    ///     at: "/var/lake/events", gzip: false,
    ///     utcOffset: { time in .seconds(TimeZone.current.secondsFromGMT(for: Date(time))) })
    /// ```
    ///
    /// - Parameters:
    ///   - folder: The path of a folder. If it is missing, it is made with its first file, for this user only. `chmod` it to
    ///     let others read it.
    ///   - gzip: Whether to compress the files: `.ndjson.gz` instead of `.ndjson`. They are about a fifth as large.
    ///   - partition: A folder for each date or for each hour.
    ///   - utcOffset: The local time minus UTC at a time, for dates of a time zone. The dates of UTC by default. It is called
    ///     for each event, must always return the same for the same time, and is rounded to seconds within one day.
    ///   - maximumAge: The time after the end of a date when the files of that date are removed. They stay forever by default.
    ///     Events that are already too old become dead letters. It needs at least a day. A file doesn't say who wrote it, so
    ///     the shortest age of all transports on a folder counts. Ages are measured by the earlier one of two clocks:
    ///     the wall clock, and the time since the pipeline was built. So setting the wall clock forth removes nothing until
    ///     a new pipeline is built. One that is built while the clock is ahead removes files too early, if it is ahead by
    ///     less than a year, and refuses events that are too old by it, until the clock is set right.
    public convenience init(
        at folder: String, gzip: Bool = true, partition: EventPartition = .day,
        utcOffset: @escaping @Sendable (Timestamp) -> Duration = { _ in .zero }, maximumAge: Duration? = nil
    ) {
        self.init(
            at: folder, gzip: gzip, EventCalendar(partition, utcOffset: utcOffset), maximumAge,
            files: SystemFileSystem(), deflater: gzip ? .system : nil)
    }

    init(
        at folder: String, gzip: Bool, _ calendar: EventCalendar, _ maximumAge: Duration?, files: any FileSystem,
        deflater: Deflater?
    ) {
        // A relative path would lead elsewhere when the working directory changes.
        self.folder = FilePath.absolute(folder, in: files)
        (self.gzip, self.calendar, self.maximumAge) = (gzip, calendar, maximumAge)
        (self.files, self.deflater) = (files, deflater)
    }

    /// Validates the arguments. The folder is made or opened with the first file.
    ///
    /// - Parameters:
    ///   - observer: Gets a message when files were removed because of their age, and one if many small files are written, as by
    ///     ``Sluice/DeliveryPolicy/standard``.
    ///   - environment: The clocks for `maximumAge`.
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the path or the age is invalid, and
    ///   ``Sluice/SluiceError/Code/missingLibrary`` if files should be compressed and the system has no zlib.
    public func open(
        _ observer: TransportObserver = TransportObserver(), in environment: PipelineEnvironment = PipelineEnvironment()
    ) throws(SluiceError) {
        try FilePath.require(folder, "the folder of FileTransport")
        if let maximumAge, maximumAge < .seconds(86_400) || maximumAge > Self.longestAge {
            throw SluiceError(
                .invalidArgument, "a maximumAge of \(maximumAge) for files: use a day to a thousand years, or nil")
        }
        if gzip, deflater == nil {
            throw SluiceError(
                .missingLibrary, "FileTransport found no zlib (libz.so.1): install it, or pass gzip: false")
        }
        let lake = Lake(folder, files, random: environment.random)
        let start = (environment.time.wallTime().clamped, environment.time.continuousTime())
        state.withLock { $0 = State(lake: lake, time: environment.time, start: start, observer: observer) }
    }

    private static let longestAge = Duration.seconds(1_000 * 365 * 86_400)

    /// Writes a file for each date of the batch, and returns when they are safe from a loss of power.
    ///
    /// A file that can't be written holds only its own events. The events of all other files are accepted.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before the first file.
    public func send(_ batch: Batch) async throws -> Verdicts {
        guard let lake = state.withLock(\.lake) else {
            throw SluiceError(.invalidArgument, "a FileTransport sends only after open(_:in:)")
        }
        try Task.checkCancellation()
        var settled: [Settled] = []
        for group in grouped(batch, settled: &settled) {
            settled +=
                Task.isCancelled
                ? [(group.events[...], .retry(reason: "the send was cancelled"))] : write(group, of: batch, to: lake)
        }
        if settled.allSatisfy(\.verdict.isAccepted) { noteSmallBatches(batch.events.count) }
        let first = settled.first?.verdict ?? .accepted
        if settled.allSatisfy({ $0.verdict == first }) { return .all(first) }
        // A verdict for each event would take as much time and memory as its line does.
        var verdicts = [Verdict](repeating: first, count: batch.events.count)
        for part in settled {
            for index in part.events { verdicts[index] = part.verdict }
        }
        return .each(verdicts)
    }

    /// Events with one verdict, by their indices.
    typealias Settled = (events: ArraySlice<Int>, verdict: Verdict)

    /// Notes once that the host has another policy than the one for files, or flushes often.
    private func noteSmallBatches(_ count: Int) {
        let observer = state.withLock { state -> TransportObserver? in
            let now = state.time.continuousTime()
            let isSoon = state.lastBatch.map { now - $0 < .seconds(60) } ?? false
            state.lastBatch = now
            guard let small = state.smallBatches else { return nil }
            state.smallBatches = isSoon && count < 1_000 ? small + 1 : 0
            guard small == 20 else { return nil }
            state.smallBatches = nil
            return state.observer
        }
        observer?.note(
            "20 batches in a row had fewer than 1,000 events, and less than a minute between them: readers of \"\(folder)\" "
                + "are slow with many small files. Pass `delivery: .files`, and flush less often")
    }

    /// Writes the events of one folder.
    private func write(_ group: Group, of batch: Batch, to lake: Lake) -> [Settled] {
        let events = group.events[...]
        var place = "the folder \"\(lake.path)\""
        do throws(FileError) {
            try lake.enter()
            place = "\(group.folder) of \(place)"
            removeExpired(in: lake)
            var rest = events.count == batch.events.count ? batch : Batch(batch, events)
            while !rest.events.isEmpty, case let overlap = try lake.overlap(of: rest, in: group.folder), overlap > 0 {
                rest = Batch(rest, overlap..<rest.events.count)
            }
            if !rest.events.isEmpty {
                var contents = FileContents(rest.events, deflater)
                try lake.write(&contents, to: EventFile(rest).name(isGzip: gzip), in: group.folder)
            }
            // Also for events that were there: their process may have ended before this.
            try lake.synchronize(group.folder)
            let new = rest.events.count
            return [(events.dropLast(new), .duplicate), (events.suffix(new), .accepted)].filter { !$0.events.isEmpty }
        } catch {
            return [(events, verdict(on: error, place))]
        }
    }

    private func verdict(on failure: FileError, _ place: String) -> Verdict {
        if failure == .fileTooLarge { return .tooLarge(reason: "the file is too large for \(place)") }
        let reason = "\(place) \(failure.advice) (\(failure))"
        return failure.isPassing ? .retry(reason: reason) : .hold(reason: reason)
    }
}

extension FileTransport: CustomStringConvertible {
    /// The path of the folder.
    public var description: String { "FileTransport(\"\(folder)\")" }
}
