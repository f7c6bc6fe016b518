import Foundation

public typealias OSStatus = Int32
public typealias CFTypeRef = AnyObject
public typealias CFDictionary = NSDictionary

public let errSecSuccess: OSStatus = 0
public let errSecItemNotFound: OSStatus = -25_300
public let errSecInteractionNotAllowed: OSStatus = -25_308
public let errSecDuplicateItem: OSStatus = -25_299
public let errSecMissingEntitlement: OSStatus = -34_018

public let kSecClass = "class"
public let kSecClassGenericPassword = "genp"
public let kSecAttrService = "svce"
public let kSecAttrAccount = "acct"
public let kSecAttrAccessGroup = "agrp"
public let kSecAttrAccessible = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly = "cku"
public let kSecReturnData = "r_Data"
public let kSecMatchLimit = "m_Limit"
public let kSecMatchLimitOne = "m_LimitOne"
public let kSecValueData = "v_Data"

/// A keychain in memory, which a test may lock and empty.
public enum Keychain {
    /// The items by access group, service and account.
    nonisolated(unsafe) public static var items: [String: Data] = [:]
    /// The access groups of the app. The first one is its own, which new items get.
    nonisolated(unsafe) public static var accessGroups = ["app"]
    /// As before the first unlock after a restart.
    nonisolated(unsafe) public static var isLocked = false
    /// How many writes succeed before all others fail.
    nonisolated(unsafe) public static var remainingWrites = Int.max

    static func keys(_ query: NSDictionary, in groups: [String]) -> [String] {
        groups.map { "\($0) \(query[kSecAttrService] ?? "") \(query[kSecAttrAccount] ?? "")" }
    }

    /// The existing items of a query: in all groups of the app, unless there is one.
    static func matches(_ query: NSDictionary, in group: String?) -> Result<[String], Failure> {
        if isLocked { return .failure(Failure(status: errSecInteractionNotAllowed)) }
        if let group, !accessGroups.contains(group) { return .failure(Failure(status: errSecMissingEntitlement)) }
        let keys = keys(query, in: group.map { [$0] } ?? accessGroups).filter { items[$0] != nil }
        return keys.isEmpty ? .failure(Failure(status: errSecItemNotFound)) : .success(keys)
    }

    static func write(_ data: Data?, to keys: [String]) -> OSStatus {
        guard remainingWrites > 0 else { return errSecInteractionNotAllowed }
        remainingWrites -= 1
        for key in keys { items[key] = data }
        return errSecSuccess
    }

    struct Failure: Error {
        let status: OSStatus
    }
}

private func status(of query: CFDictionary, in group: String? = nil, _ body: ([String]) -> OSStatus) -> OSStatus {
    switch Keychain.matches(query, in: group ?? query[kSecAttrAccessGroup] as? String) {
    case .success(let keys): body(keys)
    case .failure(let failure): failure.status
    }
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    status(of: query) { keys in
        if query[kSecReturnData] as? Bool == true { result?.pointee = Keychain.items[keys[0]].map { NSData(data: $0) } }
        return errSecSuccess
    }
}

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let group = attributes[kSecAttrAccessGroup] as? String ?? Keychain.accessGroups[0]
    let key = Keychain.keys(attributes, in: [group])
    let found = status(of: attributes, in: group) { _ in errSecDuplicateItem }
    return found == errSecItemNotFound ? Keychain.write(attributes[kSecValueData] as? Data, to: key) : found
}

public func SecItemUpdate(_ query: CFDictionary, _ attributes: CFDictionary) -> OSStatus {
    status(of: query) { Keychain.write(attributes[kSecValueData] as? Data, to: $0) }
}

public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    status(of: query) { Keychain.write(nil, to: $0) }
}
