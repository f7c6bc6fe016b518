import Foundation
import Security
import Sluice
import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing
import UIKit

/// An identity in the keychain and the user defaults.
@Suite(.serialized) @MainActor struct DeviceIdentityTests {
    private let group = "TEAM.shared"

    init() {
        Keychain.items = [:]
        Keychain.accessGroups = ["app"]
        Keychain.isLocked = false
        UIApplication.shared.isProtectedDataAvailable = true
        Keychain.remainingWrites = .max
        for name in ["sluice", "sluice.two"] {
            for item in ["identity", "identity.corrupt"] {
                UserDefaults.standard.removeObject(forKey: "\(name).\(item)")
            }
        }
        UIDevice.current.identifierForVendor = UUID()
    }

    /// The identity of a new launch.
    func launch(accessGroup: String? = nil) -> Identity { Identity(persistedIn: .device(accessGroup: accessGroup)) }

    var defaults: Data? { UserDefaults.standard.data(forKey: "sluice.identity") }

    private func removeApp() { UserDefaults.standard.removeObject(forKey: "sluice.identity") }

    /// A backup contains the user defaults, and no item of the keychain that is for one device only.
    private func restoreOnOtherDevice() {
        Keychain.items = [:]
        UIDevice.current.identifierForVendor = UUID()
    }

    /// All bytes that are kept, as text.
    private var everything: String {
        let stored =
            Array(Keychain.items.values)
            + ["identity", "identity.corrupt"].compactMap {
                UserDefaults.standard.data(forKey: "sluice.\($0)")
            }
        return stored.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }

    private func logIn(_ identity: Identity) throws {
        try identity.login("customer-42")
        try identity.bind("crm_id", to: "7781")
        try identity.join(group: "acme", ofType: "company")
    }

    @Test("only the anonymous id survives the app's removal, and the keychain holds no other id")
    func onlyAnonymousIDSurvivesRemoval() throws {
        let identity = launch()
        try logIn(identity)
        #expect(launch().loginID == "customer-42")
        let keychain = Keychain.items.values.map { String(decoding: $0, as: UTF8.self) }
        #expect(keychain.count == 1)
        for id in ["customer-42", "7781", "acme"] { #expect(!keychain[0].contains(id)) }
        removeApp()
        let reinstalled = launch()
        #expect(reinstalled.anonymousID == identity.anonymousID)
        #expect(reinstalled.loginID == nil && reinstalled.boundIDs.isEmpty && reinstalled.groups.isEmpty)
        #expect(defaults != nil)
    }

    @Test("after a reinstall, the login of another user doesn't join the anonymous id of the former one")
    func reinstallKeepsNoteOfSignUp() throws {
        let identity = launch()
        try identity.login("a")
        removeApp()
        let reinstalled = launch()
        let store = RecordingStore()
        let pipeline = try store.pipeline(reinstalled)
        try reinstalled.login("b")
        pipeline.track("Event")
        #expect(store.events.map(\.name) == ["$SignUp", "Event"])
        #expect(store.events.first?.properties["$switches_user"] == true)
    }

    @Test("the copy in the user defaults stands in for a lost item of the keychain on the same device")
    func copyStandsInForKeychain() throws {
        let identity = launch()
        try logIn(identity)
        Keychain.items = [:]
        let next = launch()
        #expect(next.anonymousID == identity.anonymousID && next.loginID == "customer-42")
        #expect(Keychain.items.count == 1)
    }

    @Test("a backup that is restored on another device makes a new anonymous id, and keeps the login")
    func restoredBackupMakesNewAnonymousID() throws {
        let identity = launch()
        try logIn(identity)
        restoreOnOtherDevice()
        let restored = launch()
        let id = try #require(restored.anonymousID)
        #expect(id != identity.anonymousID && id.count == 36)
        #expect(restored.loginID == "customer-42")
        #expect(restored.boundIDs == ["crm_id": "7781"] && restored.groups == ["company": "acme"])
        let next = launch()
        #expect(next.anonymousID == id && next.loginID == "customer-42")
    }

    @Test("the keychain counts where an older backup is restored on the same device")
    func keychainCountsBeforeOlderBackup() throws {
        let identity = launch()
        try identity.login("a")
        let backup = defaults
        let id = try identity.resetAnonymousID()
        UserDefaults.standard.set(backup, forKey: "sluice.identity")
        #expect(launch().anonymousID == id && launch().loginID == "a")
        Keychain.items = [:]
        #expect(launch().anonymousID == id)
    }

    @Test("the keychain counts after the vendor's id has changed, and the copy is bound again")
    func keychainCountsAfterChangeOfVendorID() throws {
        let identity = launch()
        try identity.login("a")
        UIDevice.current.identifierForVendor = UUID()
        #expect(launch().anonymousID == identity.anonymousID)
        Keychain.items = [:]
        #expect(launch().anonymousID == identity.anonymousID)
    }

    @Test("without the vendor's id, a copy without an item in the keychain makes no new user")
    func unknownDeviceMakesNoNewUser() throws {
        let identity = launch()
        try identity.login("a")
        Keychain.items = [:]
        let device = UIDevice.current.identifierForVendor
        UIDevice.current.identifierForVendor = nil
        let unknown = launch()
        #expect(unknown.anonymousID == nil)
        #expect(throws: SluiceError.self) { try unknown.login("a") }
        UIDevice.current.identifierForVendor = device
        #expect(launch().anonymousID == identity.anonymousID)
    }

    @Test("before the first unlock there is no new user")
    func lockedKeychainMakesNoNewUser() throws {
        Keychain.isLocked = true
        let identity = launch()
        #expect(identity.anonymousID == nil)
        #expect(throws: SluiceError.self) { try identity.login("a") }
        #expect(throws: SluiceError.self) { try identity.erase() }
        #expect(defaults == nil)
    }

    @Test("an item of the keychain that holds a login, from an earlier version, is reduced to the anonymous id")
    func olderKeychainItemIsReduced() throws {
        let identity = launch()
        try identity.login("customer-42")
        let whole = try #require(defaults)
        for key in Keychain.items.keys { Keychain.items[key] = whole }
        removeApp()
        let next = launch()
        #expect(next.anonymousID == identity.anonymousID && next.loginID == nil)
        #expect(!everything.contains("customer-42"))
    }

    @Test("a second identity of an app has a name of its own")
    func identitiesHaveTheirOwnNames() throws {
        let one = launch()
        let two = Identity(persistedIn: .device("sluice.two"))
        #expect(one.anonymousID != two.anonymousID)
    }

    // MARK: Access groups

    @Test("apps with an access group share the anonymous id, and nothing else")
    func appsShareAnonymousID() throws {
        Keychain.accessGroups = ["app", group]
        let one = launch(accessGroup: group)
        try logIn(one)
        // Another app has its own user defaults and its own first group.
        removeApp()
        Keychain.accessGroups = ["other", group]
        let other = launch(accessGroup: group)
        #expect(other.anonymousID == one.anonymousID && other.loginID == nil)
        #expect(Keychain.items.keys.allSatisfy { $0.hasPrefix(group) })
    }

    @Test("an app that gets an access group keeps its anonymous id")
    func anonymousIDMovesToAccessGroup() throws {
        let former = launch()
        _ = former.anonymousID
        Keychain.accessGroups = ["app", group]
        #expect(launch(accessGroup: group).anonymousID == former.anonymousID)
        #expect(Keychain.items.count == 2)
    }

    @Test("an access group without an entitlement is an error that names it")
    func missingEntitlementIsAnError() throws {
        let identity = launch(accessGroup: group)
        for _ in 0..<2 {
            let error = #expect(throws: SluiceError.self) { try identity.login("a") }
            #expect(error?.message.contains(group) == true)
        }
        #expect(defaults == nil && Keychain.items.isEmpty)
    }

    @Test("a change of another app of the access group isn't overwritten by the next change here")
    func changeOfOtherAppIsKept() throws {
        Keychain.accessGroups = ["app", group]
        let one = launch(accessGroup: group)
        try one.login("a")
        let copy = defaults
        removeApp()
        let other = launch(accessGroup: group)
        let id = try other.resetAnonymousID()
        UserDefaults.standard.set(copy, forKey: "sluice.identity")
        try one.logout()
        try one.login("b")
        #expect(one.anonymousID == id)
        removeApp()
        #expect(launch(accessGroup: group).anonymousID == id)
    }

    // MARK: Erasing

    @Test("erase leaves no trace of the former ids, in no access group and in no damaged copy")
    func eraseLeavesNoTrace() throws {
        let former = launch()
        try logIn(former)
        // A damaged copy is kept aside. It still contains ids.
        let damaged = try #require(defaults).dropLast() + Data("?".utf8)
        UserDefaults.standard.set(damaged, forKey: "sluice.identity")
        for key in Keychain.items.keys { Keychain.items[key]?.append(UInt8(ascii: "?")) }
        Keychain.accessGroups = ["app", group]
        let damagedID = try #require(former.anonymousID)
        #expect(launch().anonymousID != damagedID)
        #expect(everything.contains("customer-42") && everything.contains(damagedID))
        let identity = launch(accessGroup: group)
        try logIn(identity)
        let old = try #require(identity.anonymousID)
        let id = try identity.erase()
        #expect(identity.anonymousID == id && id != old && identity.loginID == nil)
        for trace in ["customer-42", "7781", "acme", old, damagedID] { #expect(!everything.contains(trace)) }
        #expect(launch(accessGroup: group).anonymousID == id)
        removeApp()
        #expect(launch(accessGroup: group).anonymousID == id)
    }

    @Test("an erasure that fails in the keychain changes nothing")
    func failedEraseChangesNothing() throws {
        let identity = launch()
        try logIn(identity)
        let old = identity.anonymousID
        Keychain.remainingWrites = 0
        #expect(throws: SluiceError.self) { try identity.erase() }
        #expect(identity.anonymousID == old && identity.loginID == "customer-42")
        let next = launch()
        #expect(next.anonymousID == old && next.loginID == "customer-42")
        Keychain.remainingWrites = .max
        let id = try identity.erase()
        #expect(id != old && launch().anonymousID == id)
    }
}
