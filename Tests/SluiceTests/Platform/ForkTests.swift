import Foundation
import SluiceMemory
import SluiceTesting
import Testing

@testable import Sluice

/// The child of a `fork` must not use the parent's cached process id and random numbers.
@Suite struct ForkTests {
    private typealias Fork = @convention(c) () -> Int32

    @Test("random numbers are returned once")
    func randomNumbersAreReturnedOnce() {
        let words = Locked<Set<UInt64>>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            let mine = (0..<1_000).map { _ in PipelineEnvironment.systemRandom() }
            words.withLock { $0.formUnion(mine) }
        }
        #expect(words.withLock(\.count) == 4_000)
    }

    private static let isUnderThreadSanitizer = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "__tsan_init") != nil

    @Test(
        "the child of a fork has its own process id and random numbers",
        .disabled(if: isUnderThreadSanitizer, "its own locks may be held in the child of a process that had threads"))
    func childOfForkHasOwnIDAndRandomNumbers() throws {
        // Swift doesn't allow a direct call.
        let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
        let fork = unsafeBitCast(symbol, to: Fork.self)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        // More than one stock, in a buffer that is allocated before the fork: the child of a process with threads may do little.
        var words = [UInt64](repeating: 0, count: 100)
        _ = PipelineEnvironment.systemRandom()
        var generator = EventIDGenerator()
        let time = Timestamp(milliseconds: 1_000_000)
        _ = generator.next(at: time, random: PipelineEnvironment.systemRandom)
        let child = fork()
        let id = generator.next(at: time, random: PipelineEnvironment.systemRandom)
        if child == 0 {
            words[0] = UInt64(CurrentProcess.id)
            words[1] = id.low
            for index in 2..<words.count { words[index] = PipelineEnvironment.systemRandom() }
            _ = words.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
            _exit(0)
        }
        try #require(child > 0)
        close(ends[1])
        defer { close(ends[0]) }
        let mine = Set((0..<100).map { _ in PipelineEnvironment.systemRandom() })
        var answer = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        let hasAnswered = poll(&answer, 1, 20_000) == 1
        if !hasAnswered { kill(child, SIGKILL) }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        try #require(hasAnswered && status == 0)
        let count = words.withUnsafeMutableBytes { read(ends[0], $0.baseAddress, $0.count) }
        #expect(count == words.count * 8)
        #expect(words[0] == UInt64(child))
        #expect(words[1] != id.low, "the child's id has the random bits of the parent's")
        #expect(CurrentProcess.id == getpid())
        #expect(Set(words.dropFirst()).count == words.count - 1)
        #expect(mine.isDisjoint(with: words))
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
        // In a process of its own: children of this one would keep the locks of other tests' stores for some time.
        @Test(
            "the child of a process whose other threads track can track",
            .disabled(
                if: isUnderThreadSanitizer, "its own locks may be held in the child of a process that had threads"))
        func childOfTrackingProcessCanTrack() async {
            await #expect(processExitsWith: .success) {
                let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
                let fork = unsafeBitCast(symbol, to: Fork.self)
                let pipeline = try Pipeline {
                    MemoryStore(capacity: 1_000)
                    ScriptedTransport()
                }
                pipeline.pauseDelivery()
                // The Swift runtime has locks for the first use of a type, which a child can't unlock.
                for name in ["Child", "Event"] {
                    for _ in 0..<100 { pipeline.track(name, ["key": "value"]) }
                }
                for _ in 0..<4 {
                    Thread.detachNewThread {
                        while true { pipeline.track("Event", ["key": "value"]) }
                    }
                }
                for _ in 0..<30 {
                    let child = fork()
                    if child == 0 {
                        // A signal ends a child that hangs.
                        alarm(60)
                        pipeline.track("Child", ["key": "value"])
                        _exit(0)
                    }
                    var status: Int32 = 0
                    waitpid(child, &status, 0)
                    try #require(child > 0 && status == 0)
                }
            }
        }

        @Test(
            "the child of a fork leaves the events that wait in a closure to its parent, and counts them",
            .disabled(
                if: isUnderThreadSanitizer, "its own locks may be held in the child of a process that had threads"))
        func childLeavesWaitingEventsToParent() async {
            await #expect(processExitsWith: .success) {
                let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
                let fork = unsafeBitCast(symbol, to: Fork.self)
                let pipeline = try Pipeline {
                    MemoryStore()
                    ScriptedTransport()
                }
                pipeline.pauseDelivery()
                pipeline.track("First")
                let child = pipeline.trackTogether {
                    for _ in 0..<3 { pipeline.track("Event") }
                    let child = fork()
                    if child == 0 { pipeline.track("Child") }
                    return child
                }
                let ledger = pipeline.ledger
                let route = ledger.routes[0]
                if child == 0 {
                    let isRight = route.stored == 2 && route.dropped == [.leftToParentProcess: 3] && ledger.isBalanced
                    _exit(isRight ? 0 : 1)
                }
                var status: Int32 = 0
                waitpid(child, &status, 0)
                try #require(child > 0 && status == 0)
                #expect(route.stored == 4 && route.dropped.isEmpty && ledger.isBalanced)
            }
        }

        @Test(
            "a fork ends while other threads create locks, and the child can use all locks",
            .disabled(
                if: isUnderThreadSanitizer, "its own locks may be held in the child of a process that had threads"))
        func forkEndsWhileLocksAreCreated() async {
            await #expect(processExitsWith: .success) {
                let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
                let fork = unsafeBitCast(symbol, to: Fork.self)
                let outer = Locked(0)
                let kept = (0..<30_000).map { Locked($0) }
                for _ in 0..<4 {
                    Thread.detachNewThread {
                        while true { outer.withLock { $0 += Locked(1).withLock(\.self) } }
                    }
                }
                while outer.withLock(\.self) == 0 { sched_yield() }
                alarm(120)
                for _ in 0..<30 {
                    let child = fork()
                    if child == 0 {
                        alarm(60)
                        let sum = kept.reduce(0) { $0 + $1.withLock(\.self) }
                        let isUsable = outer.withLock(\.self) > 0 && Locked(1).withLock(\.self) == 1
                        _exit(isUsable && sum == 449_985_000 ? 0 : 1)
                    }
                    var status: Int32 = 0
                    waitpid(child, &status, 0)
                    try #require(child > 0 && status == 0)
                }
            }
        }
    #endif
}
