internal import Sluice
internal import SluiceFiles

/// All that changes in a ``JSONLStore``: which segments there are, and where each of them stands.
struct StoreState {
    /// The segments of one priority.
    struct Lane {
        let priority: Event.Priority
        /// Sealed, in the order of delivery.
        var sealed: [Segment] = []
        var writer: SegmentWriter?
        /// Whole lines that are not in the file yet. Without ``JSONLStore/Durability/buffered`` it is empty between calls.
        var buffer: [UInt8] = []
        var bufferedEvents = 0
        var bufferedEventBytes = 0
    }

    /// What a store holds; kept up to date, so that to ask for it costs nothing.
    struct Tally {
        var events = 0
        var eventBytes = 0
        var unreadBytes = 0
        /// Of all segments, those included that only wait to be removed.
        var fileBytes = 0
    }

    enum Phase {
        case new, open, closed
    }

    let configuration: Configuration
    let files: any FileSystem
    var phase = Phase.new
    var root: RootDirectory
    var observer = StoreObserver(onRecovered: { _ in }, onDropped: { _, _ in }, onNote: { _ in })
    var clock: StoreClock
    var processID: Int32

    /// By the priority's raw value.
    var lanes = Event.Priority.allCases.map { Lane(priority: $0) }
    var tally = Tally()
    var nextSequence: UInt64 = 0
    /// Where this life writes. Nil while none can be made.
    var home: InstanceFolder?
    /// Folders of other processes that may be dead: looked at again when there is nothing else to do.
    var others: [String] = []
    var handedOut: [Batch.ID: Segment] = [:]
    var lastBatch: UInt64 = 0
    /// Accounted for, but their files could not be removed yet.
    var unremoved: [Segment] = []
    /// Given up because they cannot be read; looked at again from time to time.
    var aside: [Segment] = []
    var lookedAside: Duration = .zero
    var deadLetters = DeadLetters()
    var segmentBytes: Int
    var segmentEvents: Int
    var isSynchronizationScheduled = false
    /// Directories with entries that a loss of power could take, and the number of the last change to each.
    var unsynchronizedDirectories: [String: Int] = [:]
    var lastDirectoryChange = 0
    /// Messages that are handed on when the lock is free again: the host's code behind them may call back.
    var notes: [String] = []

    init(_ configuration: Configuration, files: any FileSystem) {
        self.configuration = configuration
        self.files = files
        root = RootDirectory(configuration.directory, files: files)
        clock = StoreClock(configuration.environment.time, newest: nil, maximumAge: configuration.maximumAge)
        processID = files.processID
        segmentBytes = configuration.segmentBytes.upperBound
        segmentEvents = configuration.segmentEvents.upperBound
    }

    mutating func open(_ observer: StoreObserver) throws(SluiceError) {
        switch phase {
        case .new: break
        case .open: throw SluiceError(.invalidPipeline, "this JSONLStore is in use by another pipeline or route")
        case .closed:
            throw SluiceError(
                .invalidPipeline, "this JSONLStore was closed with its pipeline: make a new one at the same directory")
        }
        self.observer = observer
        processID = files.processID
        do throws(SluiceError) {
            try root.prepare()
            try recover()
        } catch {
            // As though nothing had happened: what was adopted is anybody's again.
            self = StoreState(configuration, files: files)
            throw error
        }
        phase = .open
    }

    var backlog: Backlog {
        Backlog(
            events: tally.events, bytes: tally.eventBytes + tally.unreadBytes, unreadBytes: tally.unreadBytes)
    }

    /// To be called first in every use: it throws after ``close()``, and notices a `fork`.
    mutating func enter() throws(SluiceError) {
        switch phase {
        case .open: break
        case .new:
            throw SluiceError(.storageUnavailable, "the store is not open: it must be in a pipeline that was built")
        case .closed: throw SluiceError(.shutDown, "the store is closed")
        }
        if files.processID != processID { leaveToParent() }
    }

    /// The child of a `fork` has a copy of everything, but the files and what is in them are still the parent's.
    private mutating func leaveToParent() {
        observer.dropped(tally.events, .leftToParentProcess)
        let (observer, clock, nextSequence) = (observer, clock, nextSequence)
        self = StoreState(configuration, files: files)
        self.observer = observer
        self.clock = clock
        self.nextSequence = nextSequence
        phase = .open
        do throws(SluiceError) {
            try root.prepare()
        } catch {
            notes.append("\(error)")
        }
    }

    /// Ends all use of the files; what waits in them is for a later life.
    mutating func close() {
        guard phase == .open else { return }
        if files.processID != processID { leaveToParent() }
        for lane in lanes.indices {
            do throws(FileError) {
                try seal(lane)
            } catch {
                closeWriter(lane)
                tally.events -= lanes[lane].bufferedEvents
                tally.eventBytes -= lanes[lane].bufferedEventBytes
                tally.fileBytes -= lanes[lane].buffer.count
                observer.dropped(lanes[lane].bufferedEvents, .storeFailed)
            }
        }
        if configuration.interval != nil {
            let work = unsynchronized(includingClosed: false)
            finish(work, work.synchronize())
        }
        removeUnremoved()
        if let home, home.segments == 0 { clearAway(home) }
        // With the last reference to a folder its lock is released.
        lanes = Event.Priority.allCases.map { Lane(priority: $0) }
        handedOut = [:]
        unremoved = []
        aside = []
        deadLetters = DeadLetters()
        home = nil
        phase = .closed
    }

    /// Notes that an entry was made in a directory.
    mutating func changed(_ directory: String) {
        lastDirectoryChange += 1
        unsynchronizedDirectories[directory] = lastDirectoryChange
    }

    mutating func takeNotes() -> [String] {
        if notes.isEmpty { return [] }
        defer { notes = [] }
        return notes
    }

    // MARK: Accounting

    /// Takes in a segment in the place where it belongs.
    mutating func insert(_ segment: Segment) {
        let lane = Int(segment.name.priority.rawValue)
        // Nearly always at the end.
        var index = lanes[lane].sealed.count
        while index > 0, segment.precedes(lanes[lane].sealed[index - 1]) { index -= 1 }
        lanes[lane].sealed.insert(segment, at: index)
    }

    /// Takes a segment's events out of the backlog; its file, which is still there, out of the lane.
    mutating func retire(_ segment: Segment) {
        if let events = segment.events {
            tally.events -= events
            tally.eventBytes -= segment.eventBytes
        } else {
            tally.unreadBytes -= segment.fileBytes
        }
        segment.condition = .done
        segment.file = nil
        lanes[Int(segment.name.priority.rawValue)].sealed.removeAll { $0 === segment }
    }

    /// Counts a retired segment's file as gone, and clears its folder away if it was an adopted one's last.
    mutating func forget(_ segment: Segment) {
        tally.fileBytes -= segment.fileBytes
        segment.folder.segments -= 1
        if segment.folder.segments == 0, segment.folder !== home { clearAway(segment.folder) }
    }

    /// Removes a retired segment's file, now or when it can be.
    mutating func remove(_ segment: Segment) {
        do throws(FileError) {
            try removed(segment, Result { () throws(FileError) in try files.removeFile(segment.path) })
        } catch {
            // It is remembered, and tried again.
        }
    }

    /// Notes how the removal of a retired segment's file went.
    mutating func removed(_ segment: Segment, _ removal: Result<Void, FileError>) throws(FileError) {
        switch removal {
        case .success, .failure(.noSuchFile): forget(segment)
        case .failure(let error):
            unremoved.append(segment)
            throw error
        }
    }

    mutating func removeUnremoved() {
        guard !unremoved.isEmpty else { return }
        let segments = unremoved
        unremoved = []
        for segment in segments { remove(segment) }
    }
}
