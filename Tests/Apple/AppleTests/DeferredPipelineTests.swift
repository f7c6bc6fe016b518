import Foundation
import Security
import Sluice
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing
import UIKit

/// A launch before the first unlock. In the suite that uses the same stand-ins for the keychain and the device.
extension DeviceIdentityTests {
    private static var vendorID: UUID?

    /// The device has been restarted. Neither the keychain nor the user defaults can be read; the latter look empty.
    private func restartDevice() {
        Keychain.isLocked = true
        UserDefaults.standard.set(defaults, forKey: "locked")
        UserDefaults.standard.removeObject(forKey: "sluice.identity")
        Self.vendorID = UIDevice.current.identifierForVendor
        UIDevice.current.identifierForVendor = nil
        UIApplication.shared.isProtectedDataAvailable = false
    }

    private func unlock(_ center: NotificationCenter) {
        Keychain.isLocked = false
        if let data = UserDefaults.standard.data(forKey: "locked") {
            UserDefaults.standard.set(data, forKey: "sluice.identity")
        }
        UserDefaults.standard.removeObject(forKey: "locked")
        UIDevice.current.identifierForVendor = Self.vendorID
        UIApplication.shared.isProtectedDataAvailable = true
        center.post(name: UIApplication.protectedDataDidBecomeAvailableNotification, object: nil)
    }

    /// A deferred pipeline that must not fail, into a store.
    private func deferred(
        holdingUpTo maximumBytes: Int = 1_048_576, into store: RecordingStore, _ center: NotificationCenter
    ) throws -> DeferredPipeline {
        try DeferredPipeline(holdingUpTo: maximumBytes, from: center, onFailure: { Issue.record($0) }) {
            try store.pipeline()
        }
    }

    @Test("events of a launch before the first unlock get the stored user, and keep their order, ids and times")
    func eventsBeforeUnlockGetStoredUser() throws {
        do {
            let identity = launch()
            let earlier = try RecordingStore().pipeline(identity)
            try identity.login("customer-42")
            #expect(earlier.ledger.tracked == 1)  // Its $SignUp.
        }
        restartDevice()
        let (center, store, time) = (NotificationCenter(), RecordingStore(), VirtualTime())
        let environment = PipelineEnvironment(time: time)
        let analytics = try DeferredPipeline(
            environment: environment, from: center, onFailure: { Issue.record($0) }
        ) {
            try store.pipeline(in: environment, Identity(persistedIn: .device()))
        }
        #expect(analytics.pipeline == nil)
        let past = Timestamp(milliseconds: 1_000)
        let start = time.wallTime().milliseconds
        let chosen = EventID(high: 1, low: 2)
        var ids = [analytics.track("A", ["n": 1])]
        ids.append(analytics.track("B", priority: .critical) { $0.time = past })
        time.advance(by: .seconds(60))
        analytics.trackTogether { ids.append(analytics.track("C", id: chosen)) }
        #expect(store.events.isEmpty)
        time.advance(by: .seconds(60))

        unlock(center)
        analytics.track("D")
        let events = store.events
        #expect(events.map(\.name) == ["A", "B", "C", "D"])
        #expect(events.map(\.id).prefix(3) == ids[...])
        #expect(ids[2] == chosen)
        #expect(events.map(\.time.milliseconds) == [start, 1_000, start + 60_000, start + 120_000])
        #expect(events[0].properties["n"] == 1 && events[1].priority == .critical)
        #expect(events.allSatisfy { $0.loginID == "customer-42" })
        let ledger = try #require(analytics.pipeline).ledger
        #expect(ledger.tracked == 4 && ledger.dropped.isEmpty && ledger.isBalanced)
    }

    @Test("events of a launch before the first unlock have no session, because none had begun")
    func eventsBeforeUnlockHaveNoSession() throws {
        restartDevice()
        let (center, store, time) = (NotificationCenter(), RecordingStore(), VirtualTime())
        let environment = PipelineEnvironment(time: time)
        let analytics = try DeferredPipeline(
            environment: environment, from: center, onFailure: { Issue.record($0) }
        ) {
            try store.pipeline(in: environment, Sessions())
        }
        analytics.track("A")
        time.advance(by: .seconds(60))
        unlock(center)
        analytics.track("B")
        #expect(store.events.map(\.name) == ["A", "$SessionStart", "B"])
        #expect(store.events.map { $0.properties["$session_index"] } == [nil, 1, 1])
    }

    @Test("nothing is built before the first unlock, because user defaults look empty and don't fail")
    func nothingIsBuiltBeforeUnlock() throws {
        restartDevice()
        let (center, store) = (NotificationCenter(), RecordingStore())
        var builds = 0
        let analytics = try DeferredPipeline(from: center, onFailure: { Issue.record($0) }) {
            builds += 1
            return try store.pipeline()
        }
        analytics.track("A")
        // The app can be active above the lock screen.
        center.post(name: UIApplication.didBecomeActiveNotification, object: nil)
        #expect(builds == 0)
        unlock(center)
        unlock(center)
        #expect(builds == 1 && store.events.count == 1)
    }

    @Test("an unlock while the process was suspended is noticed by the next event, also if the device is locked again")
    func missedUnlockIsNoticed() async throws {
        restartDevice()
        let (center, store) = (NotificationCenter(), RecordingStore())
        let analytics = try deferred(into: store, center)
        analytics.track("A")
        await Task.yield()
        #expect(analytics.pipeline == nil)
        unlock(NotificationCenter())  // Nobody is told.
        UIApplication.shared.isProtectedDataAvailable = false
        analytics.track("B")
        while analytics.pipeline == nil { await Task.yield() }
        UIApplication.shared.isProtectedDataAvailable = true
        #expect(store.events.map(\.name) == ["A", "B"])
    }

    @Test("a pipeline that can't be built is tried again by notifications, and not by each event")
    func failedBuildIsNotRepeatedByEvents() async throws {
        restartDevice()
        let center = NotificationCenter()
        var failures = 0
        let analytics = try DeferredPipeline(from: center, onFailure: { _ in failures += 1 }) {
            throw SluiceError(.storageUnavailable, "no directory")
        }
        analytics.track("A")
        unlock(center)
        #expect(failures == 1)
        for number in 0..<20 {
            analytics.track("B", ["n": .int(number)])
            await Task.yield()
        }
        #expect(failures == 1)
        center.post(name: UIApplication.didBecomeActiveNotification, object: nil)
        #expect(failures == 2)
    }

    @Test("a device that was unlocked before builds the pipeline immediately, or throws", arguments: [true, false])
    func unlockedDeviceBuildsImmediately(isLockedAgain: Bool) throws {
        UIApplication.shared.isProtectedDataAvailable = !isLockedAgain
        let (center, store) = (NotificationCenter(), RecordingStore())
        let analytics = try deferred(into: store, center)
        analytics.track("A")
        #expect(store.events.map(\.name) == ["A"] && analytics.pipeline != nil)
        #expect(throws: SluiceError.self) {
            try DeferredPipeline(onFailure: { Issue.record($0) }) { throw SluiceError(.invalidArgument, "no") }
        }
        #expect(throws: SluiceError.self) { try deferred(holdingUpTo: 0, into: store, center) }
    }

    @Test("an error after the unlock is reported, and the next unlock or activity tries again with the same events")
    func errorAfterUnlockIsReported() throws {
        restartDevice()
        let (center, store) = (NotificationCenter(), RecordingStore())
        var errors: [String?] = []
        var builds = 0
        let analytics = try DeferredPipeline(
            from: center, onFailure: { errors.append(($0 as? SluiceError)?.message) }
        ) {
            builds += 1
            if builds < 3 { throw SluiceError(.storageUnavailable, "attempt \(builds)") }
            return try store.pipeline()
        }
        analytics.track("A")
        unlock(center)
        unlock(center)
        #expect(errors == ["attempt 1", "attempt 2"])
        #expect(analytics.pipeline == nil && store.events.isEmpty)
        center.post(name: UIApplication.didBecomeActiveNotification, object: nil)
        #expect(store.events.map(\.name) == ["A"] && errors.count == 2)
        unlock(center)
        #expect(builds == 3)
    }

    @Test("events that don't fit into the memory are counted by the pipeline's ledger, and reported once")
    func eventsAboveLimitAreCounted() throws {
        restartDevice()
        let (center, store) = (NotificationCenter(), RecordingStore())
        let messages = Locked<[String]>([])
        let analytics = try DeferredPipeline(
            holdingUpTo: 380, from: center, onFailure: { Issue.record($0) }
        ) {
            try Pipeline(onDiagnostic: { message in messages.withLock { $0.append(message.message) } }) {
                store
                NullTransport()
            }
        }
        analytics.track("E", ["text": .string(String(repeating: "x", count: 500))])
        for number in 0..<5 { analytics.track("E", ["n": .int(Int64(number))]) }
        unlock(center)
        #expect(store.events.compactMap { $0.properties["n"] } == [0, 1, 2])
        let ledger = try #require(analytics.pipeline).ledger
        #expect(ledger.tracked == 6 && ledger.dropped == [.beforeUnlock: 3] && ledger.isBalanced)
        #expect(
            messages.withLock { $0 } == ["events from before the pipeline was built are dropped: 3 (beforeUnlock)"])
    }

    @Test("an unlock while an event is being made keeps the event")
    func unlockWhileEventIsMade() throws {
        restartDevice()
        let (center, store) = (NotificationCenter(), RecordingStore())
        let analytics = try deferred(into: store, center)
        analytics.track("A")
        analytics.track("B") { _ in unlock(center) }
        #expect(store.events.map(\.name) == ["A", "B"])
    }

    @Test("a closure that gets the traces can track, also while the events are passed on")
    func traceClosureCanTrack() throws {
        restartDevice()
        let (center, store) = (NotificationCenter(), RecordingStore())
        let holder = Locked<DeferredPipeline?>(nil)
        let analytics = try DeferredPipeline(from: center, onFailure: { Issue.record($0) }) {
            try Pipeline(onTrace: { trace in
                _ = holder.withLock(\.self)?.track("Seen")
            }) {
                store
                NullTransport()
            }
        }
        holder.withLock { $0 = analytics }
        for _ in 0..<3 { analytics.track("A") }
        unlock(center)
        #expect(store.events.map(\.name) == ["A", "Seen", "A", "Seen", "A", "Seen"])
        holder.withLock { $0 = nil }
    }

    @Test("threads that track during the unlock lose nothing, and each thread's events keep their order")
    func threadsDuringUnlockLoseNothing() async throws {
        for _ in 0..<50 {
            restartDevice()
            let (center, store) = (NotificationCenter(), RecordingStore())
            let analytics = try deferred(into: store, center)
            let started = Locked(0)
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<4 {
                    group.addTask {
                        for number in Int64(0)..<200 {
                            analytics.track("T\(thread)", ["n": .int(number)])
                            started.withLock { $0 += 1 }
                        }
                    }
                }
                // So few are left that the unlock doesn't need its last round, after which threads don't wait for
                // their turn.
                while started.withLock({ $0 }) < 792 { await Task.yield() }
                unlock(center)
            }
            for thread in 0..<4 {
                #expect(store.events(named: "T\(thread)").map { $0.properties["n"] } == (0..<200).map { .int($0) })
            }
            #expect(try #require(analytics.pipeline).ledger.tracked == 800)
        }
    }

    @Test("a deferred pipeline that is released before the unlock builds nothing, and after it keeps no closure")
    func closuresAreReleased() throws {
        final class Owner {}
        for isUnlocked in [false, true] {
            restartDevice()
            let (center, store) = (NotificationCenter(), RecordingStore())
            weak var weakOwner: Owner?
            var builds = 0
            var analytics: DeferredPipeline?
            do {
                let owner = Owner()
                weakOwner = owner
                analytics = try DeferredPipeline(from: center, onFailure: { _ in _ = owner }) {
                    builds += 1
                    _ = owner
                    return try store.pipeline()
                }
            }
            #expect(weakOwner != nil)
            if !isUnlocked { analytics = nil }
            unlock(center)
            #expect(weakOwner == nil && builds == (isUnlocked ? 1 : 0))
            withExtendedLifetime(analytics) {}
        }
    }
}
