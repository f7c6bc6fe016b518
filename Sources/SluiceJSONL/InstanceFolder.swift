internal import Sluice
internal import SluiceFiles

/// The folder of one process at a time, which is whoever holds the lock on the file `lock` in it.
///
/// The system ends the lock with the process, however that dies. The folder then belongs to the first who takes the lock.
final class InstanceFolder {
    let path: String
    private let lock: OpenFile
    private let files: any FileSystem
    private var lastLook = Duration.seconds(-1)
    /// How many of the state's segments lie in it.
    var segments = 0

    static let lockName = "lock"
    static let rejectedName = "rejected"

    private init(path: String, lock: OpenFile, files: any FileSystem) {
        self.path = path
        self.lock = lock
        self.files = files
    }

    func path(of name: SegmentName) -> String { "\(path)/\(name.text)" }

    var rejectedPath: String { "\(path)/\(InstanceFolder.rejectedName)" }

    /// Makes a new one, with a name that nobody else has.
    static func create(
        in root: String, random: () -> UInt64, files: any FileSystem
    ) throws(FileError) -> InstanceFolder {
        var attempts = 8
        while true {
            let id = EventID(high: random() & ~0xF000 | 0x4000, low: random() >> 2 | 1 << 63)
            let path = "\(root)/\(id)"
            attempts -= 1
            do throws(FileError) {
                try files.makeDirectory(path, mode: 0o700)
                // Nil: another process took it for a dead one in between, and is about to clear it away.
                if let folder = try claimNew(path, files: files) { return folder }
                if attempts == 0 { throw .exists }
            } catch {
                guard attempts > 0, error == .exists || error == .noSuchFile, root.isDirectory(in: files) else {
                    throw error
                }
            }
        }
    }

    /// Leaves nothing behind if it fails: a full disk would else collect a folder with every attempt.
    private static func claimNew(_ path: String, files: any FileSystem) throws(FileError) -> InstanceFolder? {
        do throws(FileError) {
            return try claim(path, files: files)
        } catch {
            files.discardFile("\(path)/\(lockName)")
            files.discardDirectory(path)
            throw error
        }
    }

    /// Takes a folder that is nobody's any more; nil if it is somebody's, or has just been cleared away.
    static func claim(_ path: String, files: any FileSystem) throws(FileError) -> InstanceFolder? {
        let status = try files.status(of: path)
        guard status.kind == .directory else { throw .notADirectory }
        guard status.owner == files.userID else { throw .notPermitted }
        let lockPath = "\(path)/\(lockName)"
        let lock = try OpenFile(lockPath, [.write, .create], in: files)
        guard try lock.status().kind == .file else { throw .invalidArgument }
        guard try lock.lock() else { return nil }
        // Who held it before may have removed the file, and a third may have made and locked a new one.
        let held = try lock.status()
        do throws(FileError) {
            let named = try files.status(of: lockPath)
            guard named.inode == held.inode, named.device == held.device else { return nil }
        } catch {
            if error == .noSuchFile { return nil }
            throw error
        }
        return InstanceFolder(path: path, lock: lock, files: files)
    }

    /// Whether someone has deleted what is in the folder; asked with every write, and looked at again after 10 µs.
    ///
    /// A look costs a third of a write, and no folder is deleted between two that are nearer: each of its entries takes
    /// a system call. A clock that stands still between them is a test's, and tells nothing.
    ///
    /// The lock is looked at, not the file that was written to: to read a file's times makes the next write to it update
    /// them on the disk, which took as long as the write itself (Linux 6.18, ext4).
    func isDeleted(at now: Duration) -> Bool {
        if now > lastLook, now - lastLook < .microseconds(10) { return false }
        lastLook = now
        do throws(FileError) {
            return try lock.status().links == 0
        } catch {
            // The write before it was well; that is the better witness.
            return false
        }
    }

    /// Whether the folder is still where it was made.
    var isPresent: Bool {
        do throws(FileError) {
            guard try lock.status().links > 0 else { return false }
            return try files.status(of: path).kind == .directory
        } catch {
            return false
        }
    }

    /// Clears the folder away if nothing is left in it. It is not to be used any more.
    func removeIfEmpty() {
        files.discardDirectory(rejectedPath)
        do throws(FileError) {
            guard try files.list(path) == [InstanceFolder.lockName] else { return }
        } catch {
            return
        }
        files.discardFile("\(path)/\(InstanceFolder.lockName)")
        files.discardDirectory(path)
    }

    struct Listing {
        var segments: [(name: SegmentName, bytes: Int)] = []
        /// What no version of this store that we know has written.
        var foreign: [String] = []

        var bytes: Int { segments.reduce(0) { $0 + $1.bytes } }
    }

    /// Reads the directory and the files' sizes, but no file. Removes empty segments.
    ///
    /// - Parameter largest: what no segment's size can be beyond.
    func listing(largest: Int) throws(FileError) -> Listing {
        var listing = Listing()
        for text in try files.list(path) where text != InstanceFolder.lockName && text != InstanceFolder.rejectedName {
            guard let name = SegmentName(text) else {
                listing.foreign.append(text)
                continue
            }
            do throws(FileError) {
                let status = try files.status(of: path(of: name))
                if status.kind != .file || status.owner != files.userID || status.size > largest {
                    listing.foreign.append(text)
                } else if status.size > 0 {
                    listing.segments.append((name, status.size))
                } else {
                    try files.removeFile(path(of: name))
                }
            } catch {
                if error != .noSuchFile { listing.foreign.append(text) }
            }
        }
        return listing
    }
}

extension String {
    fileprivate func isDirectory(in files: any FileSystem) -> Bool {
        do throws(FileError) {
            return try files.status(of: self).kind == .directory
        } catch {
            return false
        }
    }
}
