import Sluice
import SluiceIdentity
import Testing

/// A place that keeps only the anonymous id, beside one that is bound to a device.
@Suite struct DevicePartTests {
    private final class Places: Sendable {
        struct Failure: Error {}
        struct State {
            var device: [String: [UInt8]] = [:]
            var app: [String: [UInt8]] = [:]
            var id: String? = "device"
            /// The state after each write.
            var history: [(device: [String: [UInt8]], app: [String: [UInt8]])] = []
            var cannotWriteDevice = false
        }
        let state = Locked(State())

        private func place(isDevice: Bool) -> Persistence {
            Persistence(
                named: isDevice ? "the device" : "the app",
                read: { [state] item in state.withLock { isDevice ? $0.device[item] : $0.app[item] } },
                write: { [state] item, bytes in
                    try state.withLock { state in
                        if isDevice, state.cannotWriteDevice { throw Failure() }
                        if isDevice { state.device[item] = bytes } else { state.app[item] = bytes }
                        state.history.append((state.device, state.app))
                    }
                })
        }

        var persistence: Persistence {
            place(isDevice: true).bound(toDevice: nil, keepsDevicePart: true)
                .backedUp(by: place(isDevice: false).bound(toDevice: { [state] in state.withLock(\.id) }))
        }

        var text: String {
            state.withLock { state in
                (Array(state.device.values) + state.app.values).map { String(decoding: $0, as: UTF8.self) }.joined()
            }
        }
    }

    private let places = Places()

    private func launch() -> Identity { Identity(persistedIn: places.persistence) }

    @Test(
        "a verb that a crash interrupts is complete or undone in the next launch",
        arguments: [{ _ = try $0.erase() }, { try $0.reset() }, { _ = try $0.resetAnonymousID() }]
            as [@Sendable (Identity) throws -> Void])
    func interruptedVerbIsCompleteOrUndone(verb: @Sendable (Identity) throws -> Void) throws {
        let identity = launch()
        try identity.login("customer-42")
        try identity.join(group: "acme", ofType: "company")
        let old = try #require(identity.anonymousID)
        let before = places.state.withLock { ($0.device, $0.app) }
        places.state.withLock { $0.history = [] }
        try verb(identity)
        let new = try #require(identity.anonymousID)
        let (login, groups) = (identity.loginID, identity.groups)
        let history = places.state.withLock(\.history)
        #expect(history.count == 3)
        for (device, app) in [before] + history {
            places.state.withLock { ($0.device, $0.app) = (device, app) }
            let next = launch()
            let isUndone = next.anonymousID == old
            #expect(isUndone || next.anonymousID == new)
            #expect(next.loginID == (isUndone ? "customer-42" : login))
            #expect(next.groups == (isUndone ? ["company": "acme"] : groups))
            // Then it is so in both places.
            #expect(launch().anonymousID == next.anonymousID)
            places.state.withLock { $0.app = [:] }
            #expect(launch().anonymousID == next.anonymousID)
        }
    }

    @Test("an interrupted erasure that can't be completed in the next launch is completed by its next verb")
    func erasureIsCompletedByNextVerb() throws {
        let identity = launch()
        try identity.login("customer-42")
        let device = places.state.withLock(\.device)
        places.state.withLock { $0.history = [] }
        let id = try identity.erase()
        // The app's place is written, and the device's place isn't.
        places.state.withLock { ($0.device, $0.app, $0.cannotWriteDevice) = (device, $0.history[0].app, true) }
        let next = launch()
        #expect(next.anonymousID == id)
        #expect(throws: SluiceError.self) { try next.join(group: "acme", ofType: "company") }
        places.state.withLock { $0.cannotWriteDevice = false }
        try next.join(group: "acme", ofType: "company")
        places.state.withLock { $0.app = [:] }
        #expect(launch().anonymousID == id)
    }

    @Test("a verb that fails in the device's place is an error, and the next launch has the former state")
    func failureInDevicePlaceChangesNothing() throws {
        let identity = launch()
        try identity.login("customer-42")
        let old = try #require(identity.anonymousID)
        places.state.withLock { $0.cannotWriteDevice = true }
        for verb in [{ _ = try identity.erase() }, { try identity.reset() }] {
            #expect(throws: SluiceError.self) { try verb() }
            #expect(identity.anonymousID == old && identity.loginID == "customer-42")
            #expect(launch().anonymousID == old && launch().loginID == "customer-42")
        }
        places.state.withLock { $0.cannotWriteDevice = false }
        let id = try identity.erase()
        #expect(!places.text.contains(old) && launch().anonymousID == id)
    }

    @Test("a verb that doesn't change the anonymous id doesn't write to the device's place")
    func otherVerbsDoNotWriteDevicePart() throws {
        let identity = launch()
        try identity.login("customer-42")
        let before = places.state.withLock { ($0.device, $0.history.count) }
        try identity.join(group: "acme", ofType: "company")
        try identity.logout()
        #expect(places.state.withLock { $0.device } == before.0)
        #expect(places.state.withLock { $0.history.count } == before.1 + 2)
    }

    @Test("a place without a closure for removal keeps no bytes of a damaged item after an erasure")
    func erasedItemIsOverwritten() throws {
        places.state.withLock { $0.app["identity"] = Array("damaged customer-42".utf8) }
        let identity = launch()
        _ = identity.anonymousID
        #expect(places.text.contains("customer-42"))
        try identity.erase()
        #expect(!places.text.contains("customer-42"))
    }
}
