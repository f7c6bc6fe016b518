#if compiler(>=6.2) && os(Linux)
    import Sluice
    import SluiceStdout
    import Testing

    @testable import SluiceHTTP

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    @Suite struct DescriptorTests {
        @Test("in a host without a standard output, no socket gets its number, and StdoutTransport throws")
        func standardDescriptorsAreNotUsed() async {
            await #expect(processExitsWith: .success) {
                for descriptor in [CInt(0), 1, 2] { close(descriptor) }
                let transport = HTTPTransport(to: "http://127.0.0.1:9/")
                try transport.open()
                do { _ = try await transport.send(.small) } catch {}  // Nobody listens there.
                for descriptor in [CInt(0), 1, 2] {
                    var status = stat()
                    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { exit(1) }
                }
                do {
                    try StdoutTransport().open()
                    exit(2)
                } catch {}
            }
        }
    }
#endif
