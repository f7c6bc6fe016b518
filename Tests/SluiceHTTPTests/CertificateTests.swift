#if os(Linux) || os(macOS)
    import Foundation
    import Sluice
    import TestSupport
    import Testing

    @testable import SluiceHTTP

    @Suite("Certificates", .serialized)
    struct CertificateTests {
        private static let tool = "/usr/bin/openssl"

        @Test(
            "a server with an untrusted certificate receives nothing of the request",
            .enabled(if: FileManager.default.isExecutableFile(atPath: tool), "needs the openssl tool as a TLS server"))
        func untrustedServerGetsNothing() async throws {
            Server.avoidProxies()
            let directory = TemporaryDirectory()
            let folder = URL(filePath: directory.path)
            let make = try openssl(
                in: folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key", "-out", "certificate",
                "-days", "2", "-subj", "/CN=localhost")
            make.process.waitUntilExit()
            try #require(make.process.terminationStatus == 0)

            let server = try openssl(
                in: folder, "s_server", "-accept", "127.0.0.1:0", "-key", "key", "-cert", "certificate", "-naccept", "1"
            )
            // The child may have inherited a mask that blocks other signals.
            defer { kill(server.process.processIdentifier, SIGKILL) }
            let port = try #require(acceptingPort(from: server.output))
            // The tool doesn't respond to requests.
            let transport = try openTransport(
                to: "https://127.0.0.1:\(port)/", headers: ["X-Key": "secret"],
                timeouts: HTTPTimeouts(connect: .seconds(5), total: .seconds(5)))
            let error = await #expect(throws: SluiceError.self) { try await transport.send(.small) }
            #expect(error?.code == .inputOutput)

            let rest = String(decoding: try server.output.readToEnd() ?? Data(), as: UTF8.self)
            #expect(!rest.contains("POST"))
            #expect(!rest.contains("secret"))
            withExtendedLifetime(directory) {}
        }

        private func openssl(
            in folder: URL, _ arguments: String...
        ) throws -> (process: Process, output: FileHandle) {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(filePath: Self.tool)
            process.arguments = arguments
            process.currentDirectoryURL = folder
            // s_server ends when its input ends.
            process.standardInput = Pipe()
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
            return (process, output.fileHandleForReading)
        }

        /// Waits for the line `ACCEPT 127.0.0.1:12345`.
        private func acceptingPort(from output: FileHandle) -> UInt16? {
            var text = ""
            while let bytes = Optional(output.availableData), !bytes.isEmpty {
                text += String(decoding: bytes, as: UTF8.self)
                for line in text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1)
                where line.hasPrefix("ACCEPT") {
                    return line.split(separator: ":").last.flatMap { UInt16($0) }
                }
            }
            return nil
        }
    }
#endif
