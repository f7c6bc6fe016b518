public import Sluice

extension JSONLStore {
    /// Erases waiting events and dead letters in all files of this store, and in directories of its route whose processes have
    /// ended. The other events keep their order. Damaged lines of the files that it reads are removed too, and counted as
    /// ``DropReason/corrupt``.
    ///
    /// ```swift
    /// let report = try JSONLStore(at: queueDirectory).erase { $0.distinctID == "42" }
    /// ```
    ///
    /// Each file is replaced as a whole: after a crash or a loss of power, it has all of its lines or the remaining ones. A
    /// pipeline calls this method for you: see ``Pipeline/erase(where:)``.
    ///
    /// - Parameter isMatch: selects events. It is called on this thread, without a lock.
    /// - Returns: the counts, and the directories and files where events are left, with the reasons.
    /// - Throws: ``SluiceError/Code/shutDown`` if the store is closed.
    public func erase(where isMatch: @escaping @Sendable (EventLine) -> Bool) throws(SluiceError) -> ErasureReport {
        try erasureAccess.erase(where: isMatch)
    }

    /// Erases events in a directory of stores whose processes have ended, of all routes. Use it in a tool.
    ///
    /// ```swift
    /// let report = try JSONLStore.erase(at: queueDirectory) { $0.belongs(to: "42") }
    /// print(report)
    /// ```
    ///
    /// A process that starts during the call doesn't use a directory in which events are being erased. It can take over that
    /// directory later.
    ///
    /// - Parameters:
    ///   - directory: the directory that the host passes to its store.
    ///   - encryption: the encryption of the store. Without it, encrypted files are left.
    ///   - isMatch: selects events.
    /// - Returns: the counts, and the places where events are left, such as directories that running processes use.
    /// - Throws: ``Sluice/SluiceError/Code/storageUnavailable`` if the directory can't be listed, and
    ///   ``Sluice/SluiceError/Code/invalidArgument`` for an invalid path.
    public static func erase(
        at directory: String, encryption: LineEncryption? = nil, where isMatch: @escaping (EventLine) -> Bool
    ) throws(SluiceError) -> ErasureReport {
        var report = ErasureReport()
        let folder = try People(directory, encryption)
        let eraser = LineEraser(reader: folder.reader, isMatch: isMatch)
        for path in folder.instances {
            do throws(FileError) {
                if let instance = try InstanceDirectory(claiming: path, files: folder.reader.files) {
                    report = report + eraser.run(in: instance, largest: People.largestSegment).report
                } else {
                    report.left.append("\(path): a running process uses it: erase there, or when it has ended")
                }
            } catch {
                if error != .noSuchFile { report.left.append("\(path): \(error)") }
            }
        }
        return report
    }

    /// Reads the events in a directory of stores, of all routes, whether or not their processes run. Use it to answer a
    /// person's request for access. Nothing is changed.
    ///
    /// ```swift
    /// let (events, left) = try JSONLStore.export(at: queueDirectory) { $0.belongs(to: "42") }
    /// for line in events { print(String(decoding: line.bytes, as: UTF8.self)) }
    /// for problem in left { print(problem) }
    /// ```
    ///
    /// - Parameters:
    ///   - directory: the directory that the host passes to its store.
    ///   - encryption: the encryption of the store. Without it, encrypted files can't be read.
    ///   - isMatch: selects events.
    /// - Returns: the selected events and the problems. Each event comes once. The events are sorted by directory, and within a
    ///   directory dead letters come first, then normal events, then critical ones. `left` has the files that could not be
    ///   read, with the reasons.
    /// - Throws: ``Sluice/SluiceError/Code/storageUnavailable`` if the directory can't be listed, and
    ///   ``Sluice/SluiceError/Code/invalidArgument`` for an invalid path.
    public static func export(
        at directory: String, encryption: LineEncryption? = nil, where isMatch: (EventLine) -> Bool
    ) throws(SluiceError) -> (events: [EventLine], left: [String]) {
        let folder = try People(directory, encryption)
        var events: [EventLine] = []
        var ids: Set<EventID> = []
        var problems = EraserProblems()
        var left: [String] = []
        for path in folder.instances {
            do throws(FileError) {
                // Its host may move an event to another file in the meantime.
                var isChanged = true
                for _ in 0..<People.mostReadings where isChanged {
                    isChanged = false
                    for name in try folder.segments(in: path) {
                        do throws(SegmentReader.Failure) {
                            for line in try folder.events(of: name, in: path)
                            where isMatch(line) && line.id.map({ ids.insert($0).inserted }) ?? true {
                                events.append(line)
                            }
                        } catch {
                            if case .file(.noSuchFile) = error {
                                isChanged = true
                            } else {
                                problems.add(error, in: path)
                            }
                        }
                    }
                }
                if isChanged { left.append("\(path): its host moved events during the export: repeat it") }
            } catch {
                if error != .noSuchFile { left.append("\(path): \(error)") }
            }
        }
        return (events, left + problems.texts)
    }
}

/// The directory of stores, as a tool sees it.
private struct People {
    let reader: SegmentReader
    let instances: [String]

    /// See ``Configuration/largestSegment``: the events of any host are shorter.
    static let largestSegment = 1 << 30
    /// How often a directory is read if files disappear during the reading.
    static let mostReadings = 10

    init(_ directory: String, _ encryption: LineEncryption?) throws(SluiceError) {
        let files = SystemFileSystem()
        let path = FilePath.absolute(directory, in: files)
        try FilePath.require(path, "the store's directory")
        reader = SegmentReader(files: files, encryption: encryption)
        do throws(FileError) {
            instances = try files.list(path).sorted().filter { RouteName.route(ofDirectory: $0) != nil }
                .map { "\(path)/\($0)" }
        } catch {
            throw SluiceError(
                .storageUnavailable,
                "the directory \"\(directory)\" can't be listed: pass the one that the host passes to its store",
                cause: error)
        }
    }

    func segments(in path: String) throws(FileError) -> [SegmentName] {
        try reader.files.list(path).compactMap { SegmentName($0) }.sorted { ($0.lane, $0) < ($1.lane, $1) }
    }

    func events(of name: SegmentName, in path: String) throws(SegmentReader.Failure) -> [EventLine] {
        let file = "\(path)/\(name.text)"
        if name.lane.holdsEvents { return try reader.read(file, limit: People.largestSegment, name).lines }
        return try reader.readLetters(file, limit: People.largestSegment, name).letters.map(\.letter.line)
    }
}
