import Foundation
import SluiceTesting
import Testing

@testable import SluiceSystem

@Suite struct LockTests {
    /// Takes longer than a waiting thread spins before it sleeps.
    private static func work() -> UInt64 {
        var random = SeededRandom(seed: 1)
        return (0..<20_000).reduce(0) { sum, _ in sum ^ random.next() }
    }

    @Test("threads that wait for a long use of a lock sleep, and all of them get it")
    func waitingThreadsGetTheLock() {
        let state = Locked((uses: 0, bits: UInt64(0)))
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            for _ in 0..<10 {
                state.withLock { state in
                    state.uses += 1
                    state.bits ^= LockTests.work()
                }
            }
        }
        #expect(state.withLock(\.uses) == 160)
        #expect(state.withLock(\.bits) == 0)
    }

    @Test("withLockIfFree returns nil without waiting if another thread holds the lock")
    func heldLockIsNotFree() {
        let state = Locked(0)
        let (isHeld, isChecked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let group = DispatchGroup()
        DispatchQueue(label: "other thread").async(group: group) {
            state.withLock { state in
                isHeld.signal()
                isChecked.wait()
                state = 1
            }
        }
        isHeld.wait()
        #expect(state.withLockIfFree { $0 } == nil)
        isChecked.signal()
        group.wait()
        #expect(state.withLockIfFree { $0 } == 1)
    }
}
