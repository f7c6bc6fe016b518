import Foundation
import Security
import Sluice
import SluiceIdentity
import SluiceLifecycle
import SluiceTesting
import Testing
import UIKit

/// A launch before the first unlock. In the suite that uses the same stand-in for the keychain.
extension DeviceIdentityTests {
    /// Neither the keychain nor the user defaults can be read. The latter look empty.
    private func lock() {
        Keychain.isLocked = true
        UserDefaults.standard.set(defaults, forKey: "locked")
        UserDefaults.standard.removeObject(forKey: "sluice.identity")
        UIApplication.shared.isProtectedDataAvailable = false
    }

    private func unlock(_ center: NotificationCenter) {
        Keychain.isLocked = false
        if let data = UserDefaults.standard.data(forKey: "locked") {
            UserDefaults.standard.set(data, forKey: "sluice.identity")
        }
        UserDefaults.standard.removeObject(forKey: "locked")
        UIApplication.shared.isProtectedDataAvailable = true
        center.post(name: UIApplication.protectedDataDidBecomeAvailableNotification, object: nil)
    }

    @Test("events of a launch before the first unlock get the stored user, and keep their order, ids and times")
    func eventsBeforeUnlockGetStoredUser() throws {
        let identity = launch()
        let earlier = try Pipeline {
            identity
            RecordingStore()
            NullTransport()
        }
        try identity.login("customer-42")
        #expect(earlier.ledger.tracked == 1)  // Its $SignUp.
        lock()
        let (center, time) = (NotificationCenter(), VirtualTime())
        var store = RecordingStore()
        let environment = PipelineEnvironment(time: time)
        let analytics = try DeferredPipeline(environment: environment, from: center) {
            store = RecordingStore()
            return try Pipeline(environment: environment) {
                Identity(persistedIn: .device())
                store
                NullTransport()
            }
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

    @Test("an unlocked device builds the pipeline immediately")
    func unlockedDeviceBuildsImmediately() throws {
        let (center, store) = (NotificationCenter(), RecordingStore())
        var builds = 0
        let analytics = try DeferredPipeline(from: center) {
            builds += 1
            return try Pipeline {
                store
                NullTransport()
            }
        }
        analytics.track("A")
        #expect(store.events.map(\.name) == ["A"])
        unlock(center)
        #expect(builds == 1 && store.events.count == 1)
    }

    @Test("an error on an unlocked device is thrown")
    func errorOnUnlockedDeviceIsThrown() {
        #expect(throws: SluiceError.self) {
            try DeferredPipeline { throw SluiceError(.invalidArgument, "no") }
        }
    }

    @Test("an error after the unlock is reported, and the next unlock tries again with the same events")
    func errorAfterUnlockIsReported() throws {
        lock()
        let (center, store) = (NotificationCenter(), RecordingStore())
        var errors: [any Error] = []
        var builds = 0
        let analytics = try DeferredPipeline(from: center, onFailure: { errors.append($0) }) {
            builds += 1
            if builds < 4 { throw SluiceError(.storageUnavailable, "attempt \(builds)") }
            return try Pipeline {
                store
                NullTransport()
            }
        }
        analytics.track("A")
        unlock(center)
        unlock(center)
        #expect(errors.map { ($0 as? SluiceError)?.message } == ["attempt 2", "attempt 3"])
        #expect(analytics.pipeline == nil && store.events.isEmpty)
        unlock(center)
        #expect(store.events.map(\.name) == ["A"] && errors.count == 2)
        unlock(center)
        #expect(builds == 4)
    }

    @Test("events above the capacity are counted by the pipeline's ledger and reported")
    func eventsAboveCapacityAreCounted() throws {
        lock()
        let (center, store) = (NotificationCenter(), RecordingStore())
        let messages = Locked<[String]>([])
        let analytics = try DeferredPipeline(capacity: 3, from: center) {
            if Keychain.isLocked { throw SluiceError(.storageUnavailable, "locked") }
            return try Pipeline(onDiagnostic: { message in messages.withLock { $0.append(message.message) } }) {
                store
                NullTransport()
            }
        }
        for number in 0..<5 { analytics.track("E", ["n": .int(Int64(number))]) }
        unlock(center)
        #expect(store.events.compactMap { $0.properties["n"] } == [0, 1, 2])
        let ledger = try #require(analytics.pipeline).ledger
        #expect(ledger.tracked == 5 && ledger.dropped == [.storeFull: 2] && ledger.isBalanced)
        #expect(messages.withLock { $0 } == ["2 events were dropped before the pipeline was built: storeFull"])
    }

    @Test("an unlock while an event is being made keeps the event")
    func unlockWhileEventIsMade() throws {
        lock()
        let (center, store) = (NotificationCenter(), RecordingStore())
        let analytics = try DeferredPipeline(from: center) {
            if Keychain.isLocked { throw SluiceError(.storageUnavailable, "locked") }
            return try Pipeline {
                store
                NullTransport()
            }
        }
        analytics.track("A")
        analytics.track("B") { _ in unlock(center) }
        #expect(store.events.map(\.name) == ["A", "B"])
    }

    @Test("threads that track during the unlock lose nothing, and each thread's events keep their order")
    func threadsDuringUnlockLoseNothing() async throws {
        for _ in 0..<50 {
            lock()
            let (center, store) = (NotificationCenter(), RecordingStore())
            let analytics = try DeferredPipeline(capacity: .max, from: center) {
                if Keychain.isLocked { throw SluiceError(.storageUnavailable, "locked") }
                return try Pipeline {
                    store
                    NullTransport()
                }
            }
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
                while started.withLock({ $0 }) < 100 { await Task.yield() }
                unlock(center)
            }
            for thread in 0..<4 {
                #expect(store.events(named: "T\(thread)").map { $0.properties["n"] } == (0..<200).map { .int($0) })
            }
            #expect(try #require(analytics.pipeline).ledger.tracked == 800)
        }
    }

    @Test("a deferred pipeline that is released before the unlock builds nothing")
    func releasedBeforeUnlockBuildsNothing() throws {
        lock()
        let center = NotificationCenter()
        var builds = 0
        var analytics: DeferredPipeline? = try DeferredPipeline(from: center) {
            builds += 1
            throw SluiceError(.storageUnavailable, "locked")
        }
        analytics?.track("A")
        analytics = nil
        unlock(center)
        #expect(builds == 1)
    }
}
