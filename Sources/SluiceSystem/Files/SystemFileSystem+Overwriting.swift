import SluiceEvents
import SluiceLibC

extension SystemFileSystem {
    /// They overwrite the blocks of a file where they are. Others write to new blocks (btrfs, ZFS, overlay, APFS, f2fs) or are
    /// not known here.
    private static let overwriting = ["ext4", "ext3", "ext2", "xfs", "tmpfs"]

    package func overwritesInPlace(_ path: String) -> Bool {
        #if os(Linux) || os(Android)
            guard let device = attempt(try status(of: path).device, or: nil) else { return false }
            let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
            let minor = device & 0xFF | device >> 12 & ~0xFF
            let mounts = attempt(try OpenFile("/proc/self/mountinfo", [], in: self).read(upTo: 4_194_304), or: [])
            // 36 35 98:0 /root /mount options shared:1 - ext4 /dev/root rw
            let fields = mounts.split(separator: UInt8(ascii: "\n")).lazy
                .map { String(decoding: $0, as: UTF8.self).split(separator: " ") }
                .first { $0.count > 2 && $0[2] == "\(major):\(minor)" }
            guard let fields, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else { return false }
            return SystemFileSystem.overwriting.contains { $0 == fields[dash + 1] }
        #else
            return false
        #endif
    }

    package func makeOverwritable(_ file: FileDescriptor) throws(FileError) -> Bool {
        #if os(Linux) || os(Android)
            // They are macros of the headers, with the same values on all processors.
            let (setSignal, setLease): (CInt, CInt) = (10, 1_024)
            let flags = fcntl(file.rawValue, F_GETFL)
            // A process that opens the file in the next microsecond waits for the end of the lease, and the system sends a
            // signal: by default SIGIO, which ends the process. SIGURG is ignored.
            guard flags >= 0, fcntl(file.rawValue, F_SETFL, flags & ~O_APPEND) == 0,
                fcntl(file.rawValue, setSignal, SIGURG) == 0
            else { throw FileError(errno) }
            // The system grants it only if no process, this one included, has another opening of the file.
            guard fcntl(file.rawValue, setLease, CInt(F_WRLCK)) == 0 else { return false }
            guard fcntl(file.rawValue, setLease, CInt(F_UNLCK)) == 0 else { throw FileError(errno) }
            return true
        #else
            return false
        #endif
    }
}
