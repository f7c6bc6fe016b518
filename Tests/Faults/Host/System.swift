#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The functions of the operating system that the host needs.
enum System {
    static func fail(_ message: String) -> Never {
        note("FaultHost: \(message)")
        exit(64)
    }

    static func note(_ message: String) {
        write(Array("\(message)\n".utf8), to: 2)
    }

    /// Ends the process without any cleanup, as a child of `fork` must.
    static func leave() -> Never {
        _exit(0)
    }

    static func pause(microseconds: UInt32) {
        usleep(microseconds)
    }

    /// The next line of the standard input; nil at its end.
    static func nextLine() -> String? {
        // At the end of the input, readLine takes an EINTR that is left from another call for its own, and never ends.
        errno = 0
        return readLine()
    }

    /// The clock that Python calls `time.monotonic_ns`.
    static func monotonicMicroseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
    }

    /// Swift hides `fork`, for good reason. Hosts in C and Objective-C can still call it.
    static func fork() -> Int32 {
        guard let symbol = dlsym(nil, "fork") else { fail("this system has no fork") }
        return unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
    }

    static func wait(for child: Int32) {
        var status: Int32 = 0
        while waitpid(child, &status, 0) == -1, errno == EINTR {}
        guard status == 0 else { fail("the child of a fork ended with status \(status)") }
    }

    /// Writes all bytes, in one call if the reader is fast enough.
    static func write(_ bytes: [UInt8], to descriptor: Int32) {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes { systemWrite(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { fail("nobody reads the records any more") }
            start += max(0, count)
        }
    }

    static func readFile(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        guard descriptor >= 0 else { fail("\(path) cannot be read") }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }

    static func makeFile(_ path: String, _ bytes: ArraySlice<UInt8>) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { fail("\(path) cannot be written") }
        write(Array(bytes), to: descriptor)
        close(descriptor)
    }

    /// Returns the only segment in the directory of a store.
    static func onlySegment(in root: String) -> (name: String, bytes: [UInt8]) {
        let paths = list(root).flatMap { folder in list("\(root)/\(folder)").map { "\(folder)/\($0)" } }
        let segments = paths.filter { $0.hasSuffix(".jsonl") }
        guard segments.count == 1, let name = segments[0].split(separator: "/").last else {
            fail("\(segments.count) segments in \(root)")
        }
        return (String(name), readFile("\(root)/\(segments[0])"))
    }

    private static func list(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    static func makeDirectory(_ path: String) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { fail("\(path) cannot be made") }
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
