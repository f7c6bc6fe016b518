#if compiler(>=6.2) && os(Linux)
    import Sluice
    import SluiceLibC
    import SluiceStdout
    import Testing

    @testable import SluiceHTTP

    @Suite(.serialized) struct DescriptorTests {
        private static var standardIsSocket: Bool {
            [CInt(0), 1, 2].contains { descriptor in
                var status = stat()
                return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
            }
        }

        @Test("in a host without a standard output, no socket gets its number, and StdoutTransport throws")
        func standardDescriptorsAreNotUsed() async {
            await #expect(processExitsWith: .success) {
                for descriptor in [CInt(0), 1, 2] { close(descriptor) }
                let transport = HTTPTransport(to: "http://127.0.0.1:9/")
                try transport.open(in: PipelineEnvironment())
                do { _ = try await transport.send(.small) } catch {}  // Nobody listens there.
                if DescriptorTests.standardIsSocket { exit(1) }
                do {
                    try StdoutTransport().open(in: PipelineEnvironment())
                    exit(2)
                } catch {}
            }
        }

        @Test("if the host closes its standard descriptors later, no socket gets their numbers either")
        func descriptorsClosedLaterAreNotUsed() async {
            await #expect(processExitsWith: .success) {
                // Nobody accepts its connections, so that this process opens no other socket.
                let (listener, port) = try Socket.makeListener()
                let transport = HTTPTransport(to: "http://127.0.0.1:\(port)/")
                try transport.open(in: PipelineEnvironment())
                for _ in 0..<20 {
                    for descriptor in [CInt(0), 1, 2] { close(descriptor) }
                    let sending = Task { try await transport.send(.small) }
                    var entry = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
                    guard poll(&entry, 1, 60_000) == 1 else { exit(1) }
                    if DescriptorTests.standardIsSocket { exit(2) }
                    sending.cancel()
                    _ = await sending.result
                    // Its number is above 2, because ours occupy these.
                    close(accept(listener, nil, nil))
                }
            }
        }
    }
#endif
