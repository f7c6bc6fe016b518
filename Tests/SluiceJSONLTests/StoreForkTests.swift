import Foundation
import Sluice
import SluiceJSONL
import SluiceTesting
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
                    await pipeline.shutdown(deadline: .zero)
                    return try transport.accepted().map(\.name)
                }
                #expect(try await delivered() == [])
                await first.shutdown(deadline: .zero)
                #expect(try await delivered() == ["Parent"])
            }
        }
    }
#endif
