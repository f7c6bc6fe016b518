import Foundation

public typealias OSStatus = Int32
public typealias CFTypeRef = AnyObject
public typealias CFDictionary = NSDictionary

public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25_300
public let errSecInteractionNotAllowed: OSStatus = -25_308
public let errSecDuplicateItem: OSStatus = -25_299

public let kSecClass = "class"
public let kSecClassGenericPassword = "genp"
public let kSecAttrService = "svce"
public let kSecAttrAccount = "acct"
public let kSecAttrAccessible = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
public let kSecReturnData = "r_Data"
public let kSecMatchLimit = "m_Limit"
public let kSecMatchLimitOne = "m_LimitOne"
public let kSecValueData = "v_Data"

/// A keychain in memory, which a test may lock and empty.
public enum Keychain {
    nonisolated(unsafe) public static var items: [String: Data] = [:]
    /// As before the first unlock after a restart.
    nonisolated(unsafe) public static var isLocked = false

    static func key(_ query: NSDictionary) -> String {
        "\(query[kSecAttrService] ?? "") \(query[kSecAttrAccount] ?? "")"
    }
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    if Keychain.isLocked { return errSecInteractionNotAllowed }
    guard let item = Keychain.items[Keychain.key(query)] else { return errSecItemNotFound }
    if query[kSecReturnData] as? Bool == true { result?.pointee = NSData(data: item) }
    return errSecSuccess
}

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    if Keychain.isLocked { return errSecInteractionNotAllowed }
    let key = Keychain.key(attributes)
    guard Keychain.items[key] == nil else { return errSecDuplicateItem }
    Keychain.items[key] = attributes[kSecValueData] as? Data
    return errSecSuccess
}

public func SecItemUpdate(_ query: CFDictionary, _ attributes: CFDictionary) -> OSStatus {
    if Keychain.isLocked { return errSecInteractionNotAllowed }
    let key = Keychain.key(query)
    guard Keychain.items[key] != nil else { return errSecItemNotFound }
    Keychain.items[key] = attributes[kSecValueData] as? Data
    return errSecSuccess
}
