#if canImport(Security)
    import Foundation
    import Security
    public import Sluice

    #if os(watchOS)
        import WatchKit
    #elseif canImport(UIKit)
        import UIKit
    #endif

    extension Persistence {
        /// Keeps state in the app's user defaults, and the anonymous id of an ``Identity`` in the keychain of this
        /// device too.
        ///
        /// The anonymous id survives the app's removal in the keychain. Nothing else does, except a flag that records
        /// whether a user has signed up under it. The login id, bound ids, groups and the state of other plugins are
        /// in the user defaults only, and are removed with the app.
        ///
        /// A backup contains the user defaults. Restored on another device, they keep the login id, bound ids and
        /// groups, and a new anonymous id is created: neither the item in the keychain nor its copy in the user
        /// defaults counts on another device. The copy is bound to the vendor's id of the device (IDFV), and on macOS
        /// to the id of the machine. It is used only if the keychain has lost its item.
        ///
        /// Pass an access group to share the anonymous id with other apps of the same vendor. All of them need the
        /// group in their entitlement `keychain-access-groups`; building the pipeline throws without it. The first app
        /// that is launched creates the id. The other apps adopt a change at their next launch, or before their next
        /// change. On macOS, an access group needs the data protection keychain, and so a signed app.
        ///
        /// Before the first unlock after a restart neither place can be read. Building a pipeline with an ``Identity``
        /// then throws, but to other plugins the user defaults look empty, as at the first launch. If the system can
        /// launch your app at that time, build the pipeline with `DeferredPipeline` of SluiceLifecycle.
        ///
        /// Call this method on the main thread, because only the main thread can read the vendor's id.
        ///
        /// ```swift
        /// let identity = Identity(persistedIn: .device())
        /// let shared = Identity(persistedIn: .device(accessGroup: "A1B2C3D4E5.com.example.shared"))
        /// ```
        ///
        /// - Parameters:
        ///   - name: The prefix of the names in both; one for each pipeline with an identity of its own. Apps that
        ///     share an access group pass the same name.
        ///   - accessGroup: The access group of the keychain, with the prefix of your team, such as
        ///     `A1B2C3D4E5.com.example.shared`. Nil: the item is the app's own.
        /// - Returns: The place, which several plugins can share.
        @MainActor public static func device(_ name: String = "sluice", accessGroup: String? = nil) -> Persistence {
            @Sendable func item(_ item: String) -> KeychainItem {
                KeychainItem(service: "\(name).\(item)", accessGroup: accessGroup)
            }
            let device = deviceID
            #if os(macOS)
                // Its keychain can be moved to another machine.
                let keychainDevice: (@Sendable () -> String?)? = { device }
            #else
                let keychainDevice: (@Sendable () -> String?)? = nil
            #endif
            return Persistence(
                named: "the keychain (\(name))", read: { try item($0).read() }, write: { try item($0).write($1) },
                remove: { try item($0).remove() }
            )
            .bound(toDevice: keychainDevice, keepsDevicePart: true, isShared: accessGroup != nil)
            .backedUp(
                by: Persistence(
                    named: "the user defaults (\(name))",
                    read: { UserDefaults.standard.data(forKey: "\(name).\($0)").map { [UInt8]($0) } },
                    write: { UserDefaults.standard.set(Data($1), forKey: "\(name).\($0)") },
                    remove: { UserDefaults.standard.removeObject(forKey: "\(name).\($0)") }
                )
                .bound(toDevice: { device }))
        }

        /// An id that no other device has; nil before the first unlock after a restart.
        @MainActor private static var deviceID: String? {
            #if os(watchOS)
                return WKInterfaceDevice.current().identifierForVendor?.uuidString
            #elseif canImport(UIKit)
                return UIDevice.current.identifierForVendor?.uuidString
            #elseif os(macOS)
                var id = [UInt8](repeating: 0, count: 16)
                var timeout = timespec(tv_sec: 5, tv_nsec: 0)
                guard gethostuuid(&id, &timeout) == 0 else { return nil }
                return id.map { String($0, radix: 16) }.joined(separator: "-")
            #else
                return nil
            #endif
        }
    }

    /// A generic password of the keychain, readable after the first unlock and never moved to another device.
    struct KeychainItem: Sendable {
        struct Failure: Error {
            let status: OSStatus
        }

        let service: String
        let accessGroup: String?

        /// The item in all access groups of the app.
        private var everywhere: [String: Any] {
            [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: service,
                kSecAttrAccount as String: "identity",
            ]
        }

        private var query: [String: Any] {
            guard let accessGroup else { return everywhere }
            var query = everywhere
            query[kSecAttrAccessGroup as String] = accessGroup
            #if os(macOS)
                query[kSecUseDataProtectionKeychain as String] = true
            #endif
            return query
        }

        func read() throws -> [UInt8]? {
            var query = query
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = SecItemCopyMatching(NSDictionary(dictionary: query) as CFDictionary, &result)
            if status == errSecItemNotFound { return nil }
            try check(status)
            return (result as? Data).map { [UInt8]($0) } ?? []
        }

        func write(_ bytes: [UInt8]) throws {
            let value: [String: Any] = [
                kSecValueData as String: Data(bytes),
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            if try !update(query, to: value) {
                let item = query.merging(value) { $1 }
                let status = SecItemAdd(NSDictionary(dictionary: item) as CFDictionary, nil)
                if status == errSecDuplicateItem {
                    // Another app of the access group has added it since the update.
                    _ = try update(query, to: value)
                } else {
                    try check(status)
                }
            }
            // An item from the time before the app had the access group must not keep a former id.
            if accessGroup != nil { _ = try update(everywhere, to: value) }
        }

        func remove() throws {
            for query in [query, everywhere] {
                let status = SecItemDelete(NSDictionary(dictionary: query) as CFDictionary)
                if status != errSecItemNotFound { try check(status) }
            }
        }

        /// - Returns: false if there is no item.
        private func update(_ query: [String: Any], to value: [String: Any]) throws -> Bool {
            let status = SecItemUpdate(
                NSDictionary(dictionary: query) as CFDictionary, NSDictionary(dictionary: value) as CFDictionary)
            if status == errSecItemNotFound { return false }
            try check(status)
            return true
        }

        private func check(_ status: OSStatus) throws {
            if status == errSecMissingEntitlement, let accessGroup {
                throw SluiceError(
                    .invalidArgument,
                    "the app has no access to the keychain's group \(accessGroup): add it in Xcode under Keychain Sharing, "
                        + "and pass it with the prefix of your team")
            }
            guard status == errSecSuccess else { throw Failure(status: status) }
        }
    }
#endif
