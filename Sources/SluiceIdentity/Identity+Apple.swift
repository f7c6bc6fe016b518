#if canImport(Security)
    import Foundation
    import Security
    public import Sluice

    extension Persistence {
        /// Keeps state in the keychain of this device, where it survives the app's removal, and in the app's user defaults
        /// as a backup.
        ///
        /// Before the first unlock after a restart neither can be read: building the pipeline then throws, and you can
        /// try again later.
        ///
        /// - Parameter name: The prefix of the names in both; one for each pipeline with an identity of its own.
        /// - Returns: The place, which several plugins can share.
        public static func device(_ name: String = "sluice") -> Persistence {
            Persistence(
                named: "the keychain", read: { try KeychainItem(service: "\(name).\($0)").read() },
                write: { try KeychainItem(service: "\(name).\($0)").write($1) }
            )
            .backedUp(
                by: Persistence(
                    named: "the user defaults",
                    read: { UserDefaults.standard.data(forKey: "\(name).\($0)").map { [UInt8]($0) } },
                    write: { UserDefaults.standard.set(Data($1), forKey: "\(name).\($0)") }))
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
