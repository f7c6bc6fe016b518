import Foundation
import Sluice
import SluiceJSONL
import SluiceTesting
import TestSupport
import Testing

#if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// The child of a `fork` has copies of the parent's descriptors, and with them of its locks. A store that is used without
    /// a pipeline notices it.
    @Suite(.disabled(if: ForkedChild.isUnsafe, "the sanitizer's own locks may be held in the child"))
    struct StoreForkTests {
        static let line = Result { try EventLine(Event(name: "Child")) }

        @Test("children neither keep the lock of a store that the parent has closed, nor end the lock of an open one")
        func childrenLeaveLocksToParent() async {
            await #expect(processExitsWith: .success) {
                let directory = TemporaryDirectory()
                let (store, line) = (JSONLStore(at: directory.path), try StoreForkTests.line.get())
                // Without a pipeline, whose threads may hold locks of the Swift runtime when the process is forked.
                try store.open()
                try store.append(try EventLine(Event(name: "Parent")))
                var ends: [Int32] = [0, 0]
                try #require(pipe(&ends) == 0)
                var children: [Int32] = []
                defer {
                    close(ends[0])
                    for child in children {
                        kill(child, SIGKILL)
                        waitpid(child, nil, 0)
                    }
                }
                // One child keeps its copies of the store's descriptors, the other one closes them when it appends.
                for appends in [false, true] {
                    let child = try ForkedChild.begin()
                    var byte: UInt8 = 0
                    if child == 0 {
                        ForkedChild.end(after: 60)
                        if appends { try store.append(line) }
                        write(ends[1], &byte, 1)
                        close(ends[1])
                        while true { pause() }
                    }
                    children.append(child)
                    // A child that ended in vain closes the last end for writing.
                    if appends { close(ends[1]) }
                    try #require(read(ends[0], &byte, 1) == 1)
                }

                func delivered() async throws -> [String] {
                    let transport = ScriptedTransport()
                    let pipeline = try Pipeline {
                        JSONLStore(at: directory.path)
                        transport
                    }
                    await pipeline.flush()
                    // With less time, the directory could still be in use when the next pipeline opens it.
                    await pipeline.shutdown(timeout: .seconds(600))
                    return try transport.accepted().map(\.name)
                }
                #expect(try await delivered() == [])
                store.close()
                #expect(try await delivered() == ["Parent"])
            }
        }

        #if os(Linux)
            @Test("a child that closes all descriptors, as a daemon does, keeps the files that it opens then")
            func daemonKeepsItsFiles() async {
                await #expect(processExitsWith: .success) {
                    let directory = TemporaryDirectory()
                    let (store, line) = (JSONLStore(at: directory.path), try StoreForkTests.line.get())
                    try store.open()
                    try store.append(try EventLine(Event(name: "Parent")))
                    let child = try ForkedChild.begin()
                    if child == 0 {
                        ForkedChild.end(after: 60)
                        for descriptor in 3..<1_024 { close(Int32(descriptor)) }
                        let own = (0..<30).map { open("\(directory.path)/own-\($0)", O_RDWR | O_CREAT, 0o600) }
                        try store.append(line)
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
                    #expect(ForkedChild.wait(for: child))
                    store.close()
                    let transport = ScriptedTransport()
                    let next = try Pipeline {
                        JSONLStore(at: directory.path)
                        transport
                    }
                    await next.shutdown(timeout: .seconds(600))
                    #expect(try Set(transport.accepted().map(\.name)) == ["Parent", "Child"])
                }
            }
        #endif
    }
#endif
