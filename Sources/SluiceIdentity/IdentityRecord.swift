import Sluice

/// The identity as it is kept: `{"identity":{"anonymous_id":…,"login_id":…,…},"checksum":"…"}`.
///
/// The checksum is there because a damaged id is an id as well. It covers the object as it is written anew after
/// reading, so later versions may add keys to it.
enum IdentityRecord {
    static func encode(_ ids: UserIDs) -> [UInt8] {
        var identity: Properties = ["anonymous_id": .string(ids.anonymousID)]
        identity["login_id"] = ids.loginID.map { .string($0) }
        if !ids.boundIDs.isEmpty { identity["bound_ids"] = .object(ids.boundIDs) }
        if !ids.groups.isEmpty { identity["groups"] = .object(ids.groups) }
        if ids.hasSignedUp { identity["has_signed_up"] = true }
        identity["owed_sign_up"] = ids.owedSignUp.map { owed in
            [
                "login_id": .string(owed.loginID), "previous_id": .string(owed.previousID),
                "properties": .object(owed.properties),
            ]
        }
        var writer = JSONWriter()
        writer.object(["identity": .object(identity), "checksum": .string(checksum(of: identity))])
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws(SluiceError) -> UserIDs {
        guard case .object(let record) = try JSONReader.value(of: bytes),
            case .object(let identity) = record["identity"],
            case .string(let checksum) = record["checksum"],
            let anonymousID = identity.string("anonymous_id")
        else { throw SluiceError(.malformedLine, "no identity in it") }
        guard checksum == self.checksum(of: identity) else {
            throw SluiceError(.malformedLine, "its checksum is another one")
        }
        var ids = UserIDs(anonymousID: anonymousID, loginID: identity.string("login_id"))
        ids.boundIDs = identity.object("bound_ids") ?? [:]
        ids.groups = identity.object("groups") ?? [:]
        ids.hasSignedUp = identity["has_signed_up"] == true
        if let owed = identity.object("owed_sign_up"), let loginID = owed.string("login_id"),
            let previousID = owed.string("previous_id")
        {
            ids.owedSignUp = UserIDs.SignUp(
                loginID: loginID, previousID: previousID, properties: owed.object("properties") ?? [:])
        }
        return ids
    }

    /// FNV-1a with 64 bits, in hexadecimal: against accidents, not against forgers.
    private static func checksum(of identity: Properties) -> String {
        var writer = JSONWriter()
        writer.object(identity)
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in writer.bytes {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return String(hash, radix: 16)
    }
}

extension Properties {
    fileprivate func string(_ name: String) -> String? {
        if case .string(let string) = self[name] { string } else { nil }
    }

    fileprivate func object(_ name: String) -> Properties? {
        if case .object(let object) = self[name] { object } else { nil }
    }
}
