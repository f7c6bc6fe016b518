internal import Sluice

/// The files of delivered segments, which become the files of the next segments. They are kept open, and are blank: they have
/// newlines only.
///
/// Overwriting a file takes half the time of writing a new one, and there is nothing to create and to remove. At most
/// ``SpareFiles/most`` files of closed segments and of this list together are kept, and this list has at most as many bytes as
/// the largest segment: an idle host keeps no more. While events pile up, nothing is delivered, and new segments get new files.
struct SpareFiles {
    struct Spare {
        let file: OpenFile
        /// Its name has no meaning for readers. A file that an ended process has left is removed.
        let path: String
        let bytes: Int
        /// Whether it has newlines only. Otherwise it is here because it could not be removed.
        let isBlank: Bool

        /// Makes a spare file of the file of a delivered segment.
        ///
        /// First the name goes, then the contents: no reader finds a segment without its lines. A reader that has the file
        /// open keeps its lines: the file is then removed.
        ///
        /// - Returns: nil if the file was removed.
        static func make(
            of file: OpenFile, at segment: String, largest: Int, in files: any FileSystem
        ) throws(FileError) -> Spare? {
            let path = segment + SpareFiles.suffix
            try files.rename(segment, to: path)
            do throws(FileError) {
                if let size = try file.size(ifOnlyAt: path), size <= largest, try file.makeOverwritable() {
                    try fill(file, at: path, size)
                    return Spare(file: file, path: path, bytes: size, isBlank: true)
                }
            } catch {
                // It is removed.
            }
            let spare = Spare(file: file, path: path, bytes: largest, isBlank: false)
            return spare.remove(in: files) ? nil : spare
        }

        /// Needs no room on the disk.
        private static func fill(_ file: OpenFile, at path: String, _ size: Int) throws(FileError) {
            var written = 0
            while written < size {
                // The host can close the descriptor, and get its number for a file of its own.
                if written > 0, try file.size(ifOnlyAt: path) != size { throw .badDescriptor }
                try file.write(SpareFiles.newlines.prefix(size - written), at: written, &written)
            }
        }

        /// Returns whether it is gone.
        fileprivate func remove(in files: any FileSystem) -> Bool {
            let failure = FileError.of(try files.removeFile(path))
            return failure == nil || failure == .noSuchFile
        }

        /// Gives the file the name of a segment.
        func rename(to path: String, in files: any FileSystem) throws(FileError) {
            try files.rename(self.path, to: path)
            // Others can have closed the descriptor, or changed the file.
            guard try file.size(ifOnlyAt: path) == bytes else { throw .badDescriptor }
        }
    }

    static let suffix = ".spare"
    static let most = 4
    private static let newlines = [UInt8](repeating: LineFormat.newline, count: 65_536)[...]

    /// Whether files are reused.
    var isOn = false
    private var spares: [Spare] = []
    /// The number of closed segments whose files are kept open.
    private var kept = 0
    private(set) var bytes = 0

    /// Keeps the file of a closed segment open, if there is room. Call ``release()`` when it is not needed any more.
    mutating func keep(_ file: OpenFile) -> OpenFile? {
        guard isOn, kept + spares.count < SpareFiles.most else { return nil }
        kept += 1
        return file
    }

    mutating func release() { kept -= 1 }

    mutating func add(_ spare: Spare) {
        spares.append(spare)
        bytes += spare.bytes
    }

    mutating func take() -> Spare? {
        guard let index = spares.lastIndex(where: \.isBlank) else { return nil }
        bytes -= spares[index].bytes
        return spares.remove(at: index)
    }

    /// Removes all spare files. A file that can't be removed stays, until the next call or until a process takes the directory.
    mutating func removeAll(in files: any FileSystem) {
        spares.removeAll { $0.remove(in: files) }
        bytes = spares.reduce(0) { $0 + $1.bytes }
    }

    /// The files with lines of delivered events that could not be removed.
    var left: [String] { spares.filter { !$0.isBlank }.map(\.path) }
}
