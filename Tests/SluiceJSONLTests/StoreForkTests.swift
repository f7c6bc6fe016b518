import Foundation
import Sluice
import SluiceJSONL
import SluiceTesting
import TestSupport
import Testing

#if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// The child of a `fork` has copies of the parent's descriptors, and with them of its locks.
    @Suite struct StoreForkTests {
        private static let isUnderThreadSanitizer =
            dlsym(UnsafeMutableRawPointer(bitPattern: 0), "__tsan_init") != nil

        @Test(
            "children neither keep the lock of a store that the parent has closed, nor end the lock of an open one",
            .disabled(
                if: isUnderThreadSanitizer, "its own locks may be held in the child of a process that had threads"))
        func childrenLeaveLocksToParent() async {
            await #expect(processExitsWith: .success) {
                // Swift doesn't allow a direct call.
                let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
                let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
                let directory = try TemporaryDirectory()
                let first = try Pipeline {
                    JSONLStore(at: directory.path)
                    ScriptedTransport()
                }
                first.pauseDelivery()
                first.track("Parent")
                var ends: [Int32] = [0, 0]
                try #require(pipe(&ends) == 0)
                var children: [Int32] = []
                defer {
                    for child in children {
                        kill(child, SIGKILL)
                        waitpid(child, nil, 0)
                    }
                }
                // One child keeps its copies of the store's descriptors, the other one closes them when it tracks.
                for tracks in [false, true] {
                    let child = fork()
                    var byte: UInt8 = 0
                    if child == 0 {
                        alarm(60)
                        if tracks { first.track("Child") }
                        write(ends[1], &byte, 1)
                        while true { pause() }
                    }
                    try #require(child > 0)
                    children.append(child)
                    try #require(read(ends[0], &byte, 1) == 1)
                }

                func delivered() async throws -> [String] {
                    let transport = ScriptedTransport()
                    let pipeline = try Pipeline {
                        JSONLStore(at: directory.path)
                        transport
                    }
                    await pipeline.flush()
                    await pipeline.shutdown(timeout: .zero)
                    return try transport.accepted().map(\.name)
                }
                #expect(try await delivered() == [])
                await first.shutdown(timeout: .zero)
                #expect(try await delivered() == ["Parent"])
            }
        }

        #if os(Linux)
            @Test(
                "a child that closes all descriptors, as a daemon does, keeps the files that it opens then",
                .disabled(
                    if: isUnderThreadSanitizer, "its own locks may be held in the child of a process that had threads"))
            func daemonKeepsItsFiles() async {
                await #expect(processExitsWith: .success) {
                    let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
                    let fork = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
                    let directory = try TemporaryDirectory()
                    let pipeline = try Pipeline {
                        JSONLStore(at: directory.path)
                        ScriptedTransport()
                    }
                    pipeline.pauseDelivery()
                    pipeline.track("Parent")
                    let child = fork()
                    if child == 0 {
                        alarm(60)
                        for descriptor in 3..<1_024 { close(Int32(descriptor)) }
                        let own = (0..<30).map { open("\(directory.path)/own-\($0)", O_RDWR | O_CREAT, 0o600) }
                        pipeline.track("Child")
                        var changed: Int32 = 0
                        for (number, descriptor) in own.enumerated() {
                            var (held, named) = (stat(), stat())
                            let isOwn =
                                fstat(descriptor, &held) == 0 && stat("\(directory.path)/own-\(number)", &named) == 0
                                && held.st_ino == named.st_ino && held.st_size == 0
                            if !isOwn { changed += 1 }
                        }
                        _exit(changed)
                    }
                    try #require(child > 0)
                    var status: Int32 = 0
                    try #require(waitpid(child, &status, 0) == child)
                    #expect(status == 0)
                    await pipeline.shutdown(timeout: .zero)
                    let transport = ScriptedTransport()
                    let next = try Pipeline {
                        JSONLStore(at: directory.path)
                        transport
                    }
                    await next.shutdown(timeout: .seconds(10))
                    #expect(try Set(transport.accepted().map(\.name)) == ["Parent", "Child"])
                }
            }
        #endif
    }
#endif
