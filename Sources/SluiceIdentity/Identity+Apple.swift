#if canImport(Security)
    import Foundation
    import Security
    import Sluice

    extension Identity.Persistence {
        /// In the keychain of this device, where an identity outlives the app's removal, and in the app's user defaults as
        /// a backup.
        ///
        /// Before the first unlock after a restart neither can be read: building the pipeline then throws, and is to be
        /// tried again later.
        ///
        /// - Parameter name: under which it is kept in both; one for each identity of an app.
        public static func device(_ name: String = "sluice.identity") -> Identity.Persistence {
            keychain(name).backedUp(by: userDefaults(name))
        }

        private static func keychain(_ name: String) -> Identity.Persistence {
            let item = KeychainItem(service: name)
            return Identity.Persistence(named: "the keychain", read: { try item.read() }, write: { try item.write($0) })
        }

        private static func userDefaults(_ name: String) -> Identity.Persistence {
            Identity.Persistence(
                named: "the user defaults",
                read: { UserDefaults.standard.data(forKey: name).map { [UInt8]($0) } },
                write: { UserDefaults.standard.set(Data($0), forKey: name) })
        }
    }

    /// A generic password of the keychain, readable after the first unlock and never moved to another device.
    struct KeychainItem: Sendable {
        struct Failure: Error {
            let status: OSStatus
        }

        let service: String

        private var query: [String: Any] {
            [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: service,
                kSecAttrAccount as String: "identity",
            ]
        }

        func read() throws -> [UInt8]? {
            var query = query
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = SecItemCopyMatching(NSDictionary(dictionary: query) as CFDictionary, &result)
            switch status {
            case errSecSuccess: return (result as? Data).map { [UInt8]($0) } ?? []
            case errSecItemNotFound: return nil
            default: throw Failure(status: status)
            }
        }

        func write(_ bytes: [UInt8]) throws {
            let value: [String: Any] = [
                kSecValueData as String: Data(bytes),
                kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(
                NSDictionary(dictionary: query) as CFDictionary, NSDictionary(dictionary: value) as CFDictionary)
            if status == errSecItemNotFound {
                let item = query.merging(value) { $1 }
                status = SecItemAdd(NSDictionary(dictionary: item) as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw Failure(status: status) }
        }
    }
#endif
