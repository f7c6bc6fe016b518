internal import Sluice
internal import SluiceFiles

/// Events that no retry can bring home, kept for people to look at: `{"reason":…,"at":…,"event":{…}}` a line.
///
/// They lie in `rejected/` of the instance's folder, in files like segments; the oldest files go when they take too
/// much room. Nothing reads them.
struct DeadLetters {
    private struct File {
        var name: String
        var bytes: Int
    }

    /// Oldest first. Nil: not looked at yet.
    private var files: [File]?
    private var writer: OpenFile?

    mutating func add(
        _ rejected: [RejectedEvent], to folder: InstanceFolder, sequence: inout UInt64, configuration: Configuration,
        files fileSystem: any FileSystem
    ) throws(FileError) {
        try makeDirectory(folder, files: fileSystem)
        var files = try known(in: folder, sequence: &sequence, files: fileSystem)
        defer { self.files = files }
        let now = configuration.environment.time.wallTime()
        for event in rejected {
            let line = try DeadLetters.line(event, at: now, sealing: configuration.sealing)
            let capacity = configuration.deadLetterCapacity
            guard line.count <= capacity else { continue }
            var total = files.reduce(line.count) { $0 + $1.bytes }
            while total > capacity, let oldest = files.first {
                if files.count == 1 { writer = nil }
                try fileSystem.removeFile("\(folder.rejectedPath)/\(oldest.name)")
                total -= oldest.bytes
                files.removeFirst()
            }
            if let last = files.last, last.bytes + line.count > capacity / 4 { writer = nil }
            if writer == nil {
                let name = DeadLetters.name(&sequence)
                writer = try OpenFile(
                    "\(folder.rejectedPath)/\(name)", [.write, .append, .create, .exclusive], in: fileSystem)
                files.append(File(name: name, bytes: 0))
            }
            do throws(FileError) {
                try writer?.write(line)
            } catch {
                // What is torn stays torn: nothing is ever written behind it.
                writer = nil
                throw error
            }
            files[files.count - 1].bytes += line.count
        }
        if configuration.isFull { try writer?.synchronize() }
    }

    /// Moves the dead letters of an adopted folder to those of our own, so that it can be cleared away.
    mutating func adopt(
        from folder: InstanceFolder, into home: InstanceFolder, sequence: inout UInt64, files fileSystem: any FileSystem
    ) {
        do throws(FileError) {
            let names = try fileSystem.list(folder.rejectedPath).sorted()
            if names.isEmpty { return }
            try makeDirectory(home, files: fileSystem)
            _ = try known(in: home, sequence: &sequence, files: fileSystem)
            for name in names where DeadLetters.sequence(of: name) != nil {
                let newName = DeadLetters.name(&sequence)
                try fileSystem.rename("\(folder.rejectedPath)/\(name)", to: "\(home.rejectedPath)/\(newName)")
            }
            files = nil
            writer = nil
        } catch {
            // They stay where they are, and the next life tries again.
        }
    }

    private func makeDirectory(_ folder: InstanceFolder, files: any FileSystem) throws(FileError) {
        do throws(FileError) {
            try files.makeDirectory(folder.rejectedPath, mode: 0o700)
        } catch {
            guard error == .exists else { throw error }
        }
    }

    /// What is there already; new names come after all of it.
    private func known(
        in folder: InstanceFolder, sequence: inout UInt64, files fileSystem: any FileSystem
    ) throws(FileError) -> [File] {
        if let files { return files }
        var found: [File] = []
        for name in try fileSystem.list(folder.rejectedPath).sorted() {
            guard let number = DeadLetters.sequence(of: name) else { continue }
            sequence = max(sequence, number + 1)
            found.append(File(name: name, bytes: try fileSystem.status(of: "\(folder.rejectedPath)/\(name)").size))
        }
        return found
    }

    private static let suffix = ".jsonl"

    private static func name(_ sequence: inout UInt64) -> String {
        defer { sequence &+= 1 }
        return SegmentName.digits(sequence) + suffix
    }

    private static func sequence(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), let number = UInt64(name.dropLast(suffix.count), radix: 16),
            number < UInt64.max >> 1, SegmentName.digits(number) + suffix == name
        else { return nil }
        return number
    }

    private static func line(
        _ event: RejectedEvent, at time: Timestamp, sealing: LineSealing?
    ) throws(FileError) -> [UInt8] {
        var bytes = event.line.bytes
        if let sealing {
            do throws(SluiceError) {
                bytes = try sealing.sealed(bytes)
            } catch {
                throw .notPermitted
            }
        }
        var writer = JSONWriter(capacity: bytes.count + 128)
        writer.raw(#"{"reason":"#)
        writer.string(String(event.reason.prefix(1_024)))
        writer.raw(#","at":"#)
        writer.integer(time.milliseconds)
        writer.raw(#","event":"#)
        writer.raw(bytes)
        writer.raw("}\n")
        return writer.bytes
    }
}
