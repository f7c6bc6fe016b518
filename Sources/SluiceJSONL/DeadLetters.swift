internal import Sluice

/// A file of dead letters, `rejected/<sequence>.jsonl` in the directory of a process.
final class DeadLetterFile {
    struct Letter {
        let id: DeadLetter.ID
        let eventID: EventID?
        /// The place of its line in the file.
        let range: Range<Int>
    }

    fileprivate(set) var path: String
    let sequence: UInt64
    /// The path of the process's directory.
    fileprivate(set) var directory: String
    fileprivate(set) var bytes: Int
    /// Nil: an earlier process wrote the file, and nobody has read it yet.
    fileprivate(set) var letters: [Letter]?
    /// The places of letters that were replayed or discarded and are still in the file.
    fileprivate var removed: [Range<Int>] = []

    init(in directory: InstanceDirectory, _ sequence: UInt64, bytes: Int, letters: [Letter]?) {
        self.directory = directory.path
        path = "\(directory.rejectedPath)/\(DeadLetterFile.name(sequence))"
        self.sequence = sequence
        self.bytes = bytes
        self.letters = letters
    }

    private static let suffix = ".jsonl"
    /// Ends the name of a file that replaces another one as soon as it is complete.
    static let incompleteSuffix = ".new"

    fileprivate static func name(_ sequence: UInt64) -> String { SegmentName.digits(sequence) + suffix }

    static func sequence(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), let number = UInt64(name.dropLast(suffix.count), radix: 16),
            number < UInt64.max >> 1, DeadLetterFile.name(number) == name
        else { return nil }
        return number
    }

    /// Replaces the file by one without the removed lines, or removes it if none is left.
    fileprivate func removeLines(_ fileSystem: any FileSystem) throws(FileError) {
        var lines = try OpenFile(path, [], in: fileSystem).read(upTo: bytes)
        for range in removed.sorted(by: { $0.lowerBound > $1.lowerBound }) {
            lines.removeSubrange(range.clamped(to: 0..<lines.count))
        }
        if lines.isEmpty {
            try fileSystem.removeFile(path)
        } else {
            // It synchronizes, because the remaining letters may have been safe for long.
            try fileSystem.replaceFile(path, by: lines, through: path + DeadLetterFile.incompleteSuffix)
        }
        letters = letters?.map { letter in
            let shift = removed.reduce(0) { $0 + ($1.lowerBound < letter.range.lowerBound ? $1.count : 0) }
            let range = letter.range.lowerBound - shift..<letter.range.upperBound - shift
            return Letter(id: letter.id, eventID: letter.eventID, range: range)
        }
        bytes = lines.count
        removed = []
    }
}

/// The dead letters of a store: files of at most 64 KiB, and letters that could not be written yet.
struct DeadLetters {
    /// A letter that is not in a file yet. The segment of its event must not be removed before it is.
    struct Pending {
        let id: DeadLetter.ID
        let letter: DeadLetterLine
        let segment: Segment
        /// Nil until it is encoded.
        var line: [UInt8]?
    }

    /// Oldest first.
    private(set) var files: [DeadLetterFile] = []
    private(set) var pending: [Pending] = []
    /// The size of the files.
    private(set) var bytes = 0
    private var current: (file: DeadLetterFile, writer: OpenFile)?
    private var eventIDs: Set<EventID> = []
    private var storedCount = 0
    private var lastID: UInt64 = 0

    var count: Int { storedCount + pending.count }

    var unreadFiles: [DeadLetterFile] { files.filter { $0.letters == nil } }

    /// Whether letters wait to be written, or to be removed from their files.
    var isUnfinished: Bool { !pending.isEmpty || hasRemovedLines }

    func contains(_ event: EventID) -> Bool { eventIDs.contains(event) }

    /// The letters with these ids, or all of them, by file.
    func letters(_ ids: Set<DeadLetter.ID>?) -> [(path: String, bytes: Int, letters: [DeadLetterFile.Letter])] {
        files.compactMap { file in
            let letters = (file.letters ?? []).filter { ids?.contains($0.id) ?? true }
            return letters.isEmpty ? nil : (file.path, file.bytes, letters)
        }
    }

    /// Which of these letters exist.
    func existing(_ ids: some Sequence<DeadLetter.ID>) -> Set<DeadLetter.ID> {
        let all = files.flatMap { $0.letters ?? [] }.map(\.id) + pending.map(\.id)
        return Set(ids).intersection(all)
    }

    var hasRemovedLines: Bool { files.contains { !$0.removed.isEmpty } }

    func isPending(_ segment: Segment) -> Bool { pending.contains { $0.segment === segment } }

    // MARK: Files

    mutating func add(_ claim: Directories.Claim) {
        for file in claim.listing.deadLetters {
            insert(DeadLetterFile(in: claim.directory, file.sequence, bytes: file.bytes, letters: nil))
        }
    }

    private mutating func insert(_ file: DeadLetterFile) {
        bytes += file.bytes
        let index = files.lastIndex { ($0.sequence, $0.directory) < (file.sequence, file.directory) }
        files.insert(file, at: index.map { $0 + 1 } ?? 0)
    }

    /// Takes note of the contents of a file. The lines of events that are dead letters already are removed.
    mutating func setContents(of file: DeadLetterFile, _ lines: [(range: Range<Int>, line: DeadLetterLine)]) {
        guard file.letters == nil, files.contains(where: { $0 === file }) else { return }
        var letters: [DeadLetterFile.Letter] = []
        for (range, line) in lines {
            if let id = line.event.id, !eventIDs.insert(id).inserted {
                file.removed.append(range)
                continue
            }
            letters.append(DeadLetterFile.Letter(id: makeID(), eventID: line.event.id, range: range))
        }
        file.letters = letters
        storedCount += letters.count
    }

    private mutating func makeID() -> DeadLetter.ID {
        lastID += 1
        return lastID
    }

    /// Forgets a file that is gone.
    ///
    /// - Returns: the number of letters in it.
    mutating func forget(_ file: DeadLetterFile) -> Int {
        guard let index = files.firstIndex(where: { $0 === file }) else { return 0 }
        if current?.file === file { current = nil }
        files.remove(at: index)
        bytes -= file.bytes
        for letter in file.letters ?? [] { forget(letter.eventID) }
        storedCount -= file.letters?.count ?? 0
        return file.letters?.count ?? 0
    }

    /// Moves the files of an adopted directory to the own one, so that the adopted one can be removed.
    mutating func move(
        from directory: InstanceDirectory, _ directories: inout Directories
    ) throws(FileError) {
        for file in files where file.directory == directory.path {
            let own = try directories.makeOwnDirectory()
            try makeDirectory(own, &directories)
            let isTaken = files.contains { $0.directory == own.path && $0.sequence == file.sequence }
            let sequence = isTaken ? directories.makeSequence() : file.sequence
            let path = "\(own.rejectedPath)/\(DeadLetterFile.name(sequence))"
            try directories.files.rename(file.path, to: path)
            directories.synchronization.addEntries(of: own.rejectedPath)
            file.path = path
            file.directory = own.path
        }
    }

    private func makeDirectory(_ own: InstanceDirectory, _ directories: inout Directories) throws(FileError) {
        if try directories.files.makeDirectoryIfMissing(own.rejectedPath) {
            directories.synchronization.addEntries(of: own.path)
        } else if try directories.files.status(of: own.rejectedPath).kind != .directory {
            throw .notADirectory
        }
    }

    // MARK: Writing

    /// Adds rejected events that must be encoded and written. Ignores those that are dead letters already.
    mutating func add(_ letters: [DeadLetter], of segment: Segment) {
        for letter in letters {
            if let id = letter.line.id, !eventIDs.insert(id).inserted { continue }
            pending.append(Pending(id: makeID(), letter: DeadLetterLine(letter), segment: segment))
        }
    }

    mutating func setLine(_ line: [UInt8], of id: DeadLetter.ID) {
        guard let index = pending.firstIndex(where: { $0.id == id }) else { return }
        pending[index].line = line
    }

    /// Writes the pending letters that are encoded, in their order.
    mutating func write(to directories: inout Directories) throws(FileError) {
        while let line = pending.first?.line {
            let (file, writer) = try currentFile(for: line.count, &directories)
            var chunk: [UInt8] = []
            var letters: [DeadLetterFile.Letter] = []
            for next in pending {
                let limit = directories.configuration.deadLetterFileBytes
                guard let line = next.line, chunk.isEmpty || file.bytes + chunk.count + line.count <= limit else {
                    break
                }
                let start = file.bytes + chunk.count
                letters.append(
                    DeadLetterFile.Letter(
                        id: next.id, eventID: next.letter.event.id, range: start..<start + line.count))
                chunk += line
            }
            try write(chunk, to: file, writer, &directories)
            pending.removeFirst(letters.count)
            file.letters?.append(contentsOf: letters)
            file.bytes += chunk.count
            bytes += chunk.count
            storedCount += letters.count
            if !directories.configuration.survivesPowerLoss { directories.synchronization.add(file.path) }
        }
    }

    private mutating func currentFile(
        for size: Int, _ directories: inout Directories
    ) throws(FileError) -> (DeadLetterFile, OpenFile) {
        if let current, current.file.bytes + size <= directories.configuration.deadLetterFileBytes { return current }
        let own = try directories.makeOwnDirectory()
        try makeDirectory(own, &directories)
        let file = DeadLetterFile(in: own, directories.makeSequence(), bytes: 0, letters: [])
        let writer = try OpenFile(file.path, [.write, .append, .create, .exclusive], in: directories.files)
        directories.synchronization.addEntries(of: own.rejectedPath)
        files.append(file)
        current = (file, writer)
        return (file, writer)
    }

    private mutating func write(
        _ chunk: [UInt8], to file: DeadLetterFile, _ writer: OpenFile, _ directories: inout Directories
    ) throws(FileError) {
        do throws(FileError) {
            // Someone may have deleted or closed the file since the last letter.
            if try writer.status().links == 0 { throw .noSuchFile }
            try writer.write(chunk[...])
            // The events may have been safe for long. Their segment is removed soon.
            guard directories.configuration.survivesPowerLoss else { return }
            try writer.synchronize()
            try directories.synchronizeEntries()
        } catch {
            current = nil
            do throws(FileError) {
                try writer.truncate(to: file.bytes)
            } catch {
                // Nothing is written behind a torn line, and a line that comes twice is read once.
            }
            if file.bytes == 0 {
                directories.files.discardFile(file.path)
                _ = forget(file)
            }
            throw error == .badDescriptor ? .noSuchFile : error
        }
    }

    mutating func close() {
        current = nil
    }

    // MARK: Removing

    /// Removes a file.
    ///
    /// - Returns: the number of letters that are lost with it.
    mutating func evict(_ file: DeadLetterFile, _ fileSystem: any FileSystem) throws(FileError) -> Int {
        var unread = 0
        do throws(SegmentReader.Failure) {
            if file.letters == nil {
                let reader = SegmentReader(files: fileSystem, encryption: nil)
                unread = try reader.countLines(file.path, limit: file.bytes)
            }
        } catch {
            // It can't be counted, and is removed all the same.
        }
        do throws(FileError) {
            try fileSystem.removeFile(file.path)
        } catch {
            if error != .noSuchFile { throw error }
        }
        return unread + forget(file)
    }

    /// Removes letters. Their lines stay in their files until ``removeLines(_:)``.
    ///
    /// - Returns: the number of letters that existed.
    mutating func remove(_ ids: Set<DeadLetter.ID>) -> Int {
        let before = count
        for entry in pending where ids.contains(entry.id) { forget(entry.letter.event.id) }
        pending.removeAll { ids.contains($0.id) }
        for file in files {
            for letter in file.letters ?? [] where ids.contains(letter.id) {
                file.removed.append(letter.range)
                forget(letter.eventID)
                storedCount -= 1
            }
            if !file.removed.isEmpty { file.letters?.removeAll { ids.contains($0.id) } }
        }
        return before - count
    }

    private mutating func forget(_ event: EventID?) {
        if let event { eventIDs.remove(event) }
    }

    /// Removes the lines of removed letters from their files.
    ///
    /// - Returns: the number of letters that are lost because someone else has deleted a file.
    mutating func removeLines(_ fileSystem: any FileSystem) throws(FileError) -> Int {
        var lost = 0
        for file in files where !file.removed.isEmpty {
            if current?.file === file { current = nil }
            do throws(FileError) {
                let before = file.bytes
                try file.removeLines(fileSystem)
                bytes -= before - file.bytes
                if file.bytes == 0 { _ = forget(file) }
            } catch {
                if error != .noSuchFile { throw error }
                lost += forget(file)
            }
        }
        return lost
    }
}
