import SluiceIdentity
import TestSupport
import Testing

/// A place that keeps only the anonymous id, beside one that is bound to a device.
@Suite struct DevicePartTests {
    /// The items of the two places at a moment.
    private typealias Items = (device: [String: [UInt8]], app: [String: [UInt8]])

    private let device = MemoryPlace()
    private let app = MemoryPlace()

    private var items: Items {
        get { (device.items, app.items) }
        nonmutating set { (device.items, app.items) = newValue }
    }

    private var text: String {
        (Array(device.items.values) + app.items.values).map { String(decoding: $0, as: UTF8.self) }.joined()
    }

    /// Runs a verb. Returns the items before it and after each of its writes.
    private func history(of verb: () throws -> Void) rethrows -> [Items] {
        let history = Locked<[Items]>([])
        for place in [device, app] {
            place.beforeWriting { [device, app] in
                let items = (device.items, app.items)
                history.withLock { $0.append(items) }
            }
        }
        try verb()
        return history.withLock(\.self) + [items]
    }

    private func launch() -> Identity {
        Identity(
            persistedIn: device.persistenceWithoutRemoval.bound(toDevice: nil, keepsDevicePart: true)
                .backedUp(by: app.persistenceWithoutRemoval.bound(toDevice: { "device" })))
    }

    @Test(
        "a verb that a crash interrupts is complete or undone in the next launch",
        arguments: [{ _ = try $0.erase() }, { try $0.reset() }, { _ = try $0.resetAnonymousID() }]
            as [@Sendable (Identity) throws -> Void])
    func interruptedVerbIsCompleteOrUndone(verb: @Sendable (Identity) throws -> Void) throws {
        let identity = launch()
        try identity.login("customer-42")
        try identity.join(group: "acme", ofType: "company")
        let old = try #require(identity.anonymousID)
        let history = try history { try verb(identity) }
        let new = try #require(identity.anonymousID)
        let (login, groups) = (identity.loginID, identity.groups)
        #expect(history.count == 4)
        for moment in history {
            items = moment
            let next = launch()
            let isUndone = next.anonymousID == old
            #expect(isUndone || next.anonymousID == new)
            #expect(next.loginID == (isUndone ? "customer-42" : login))
            #expect(next.groups == (isUndone ? ["company": "acme"] : groups))
            // Then it is so in both places.
            #expect(launch().anonymousID == next.anonymousID)
            app.items = [:]
            #expect(launch().anonymousID == next.anonymousID)
        }
    }

    @Test("an interrupted erasure that can't be completed in the next launch is completed by its next verb")
    func erasureIsCompletedByNextVerb() throws {
        let identity = launch()
        try identity.login("customer-42")
        var id: String?
        let history = try history { id = try identity.erase() }
        // The app's place is written, and the device's place isn't.
        items = history[1]
        #expect(device.items == history[0].device && app.items != history[0].app)
        device.fail(at: .write)
        let next = launch()
        #expect(next.anonymousID == id)
        #expect(throws: SluiceError.self) { try next.join(group: "acme", ofType: "company") }
        device.fail()
        try next.join(group: "acme", ofType: "company")
        app.items = [:]
        #expect(launch().anonymousID == id)
    }

    @Test("a verb that fails in the device's place is an error, and the next launch has the former state")
    func failureInDevicePlaceChangesNothing() throws {
        let identity = launch()
        try identity.login("customer-42")
        let old = try #require(identity.anonymousID)
        device.fail(at: .write)
        for verb in [{ _ = try identity.erase() }, { try identity.reset() }] {
            #expect(throws: SluiceError.self) { try verb() }
            #expect(identity.anonymousID == old && identity.loginID == "customer-42")
            #expect(launch().anonymousID == old && launch().loginID == "customer-42")
        }
        device.fail()
        let id = try identity.erase()
        #expect(!text.contains(old) && launch().anonymousID == id)
    }

    @Test("a verb that doesn't change the anonymous id doesn't write to the device's place")
    func otherVerbsDoNotWriteDevicePart() throws {
        let identity = launch()
        try identity.login("customer-42")
        let (before, writes) = (device.items, app.writes)
        try identity.join(group: "acme", ofType: "company")
        try identity.logout()
        #expect(device.items == before && app.writes == writes + 2)
    }

    @Test("a place without a closure for removal keeps no bytes of a damaged item after an erasure")
    func erasedItemIsOverwritten() throws {
        app.items["identity"] = Array("damaged customer-42".utf8)
        let identity = launch()
        _ = identity.anonymousID
        #expect(text.contains("customer-42"))
        try identity.erase()
        #expect(!text.contains("customer-42"))
    }
}
