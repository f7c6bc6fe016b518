import Dispatch

/// Runs `body` on another thread, and waits for it.
package func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    let isDone = DispatchSemaphore(value: 0)
    DispatchQueue(label: "other thread").async {
        body()
        isDone.signal()
    }
    isDone.wait()
}
