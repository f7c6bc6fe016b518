/// An open file that is closed when nobody refers to it any more.
///
/// A descriptor that is in use by one thread can therefore not be closed by another, nor its number be given to
/// another file meanwhile.
package final class OpenFile: Sendable {
    package let descriptor: FileDescriptor
    private let fileSystem: any FileSystem

    /// - Parameter mode: the permissions of a file that is created here.
    package init(
        _ path: String, _ options: OpenOptions, mode: UInt32 = 0o600, in fileSystem: any FileSystem
    ) throws(FileError) {
        self.fileSystem = fileSystem
        descriptor = try fileSystem.openFile(path, options, mode: mode)
    }

    deinit {
        fileSystem.closeFile(descriptor)
    }

    /// Writes all of it, however often that takes.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try fileSystem.write(rest, to: descriptor)
            // Not an end: something that takes nothing, for ever.
            guard count > 0 else { throw .inputOutput }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
        }
    }

    /// Writes all of it, however often that takes.
    package func write(_ bytes: [UInt8]) throws(FileError) {
        let result: Result<Void, FileError> = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileError) in try write(buffer) }
        }
        try result.get()
    }

    /// The file from its position on, but no more than `limit` bytes.
    package func read(upTo limit: Int) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            do throws(FileError) {
                while count < limit {
                    let free = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                    let read = try fileSystem.read(from: descriptor, into: free)
                    if read == 0 { break }
                    count += read
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    package func synchronize() throws(FileError) {
        try fileSystem.synchronize(descriptor)
    }

    package func truncate(to size: Int) throws(FileError) {
        try fileSystem.truncate(descriptor, to: size)
    }

    package func status() throws(FileError) -> FileStatus {
        try fileSystem.status(of: descriptor)
    }

    package func lock() throws(FileError) -> Bool {
        try fileSystem.lock(descriptor)
    }
}
