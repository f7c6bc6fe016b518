#if !canImport(Darwin)
    import Synchronization
#endif

/// An object that is rarely replaced, and read without a lock.
///
/// Former objects stay alive as long as this one, because a thread may still read them.
package final class Published<Object: AnyObject & Sendable>: Sendable {
    /// All objects so far, the current one last.
    private let objects: Locked<[Object]>
    #if !canImport(Darwin)
        private let current: Atomic<Unmanaged<Object>>
    #endif

    package init(_ object: Object) {
        objects = Locked([object])
        #if !canImport(Darwin)
            current = Atomic(Unmanaged.passUnretained(object))
        #endif
    }

    /// The current object.
    package var value: Object {
        // Apple's systems before macOS 15 and iOS 18 have no Synchronization.
        #if canImport(Darwin)
            objects.withLock { $0[$0.count - 1] }
        #else
            current.load(ordering: .acquiring).takeUnretainedValue()
        #endif
    }

    /// Passes the current object to `body`, without the reference counting that ``value`` costs.
    package func read<Result>(_ body: (Object) -> Result) -> Result {
        #if canImport(Darwin)
            body(value)
        #else
            // It stays alive: see above.
            current.load(ordering: .acquiring)._withUnsafeGuaranteedRef(body)
        #endif
    }

    package func replace(with object: Object) {
        objects.withLock { objects in
            objects.append(object)
            #if !canImport(Darwin)
                current.store(Unmanaged.passUnretained(object), ordering: .releasing)
            #endif
        }
    }
}
