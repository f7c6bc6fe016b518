import Sluice

/// The identity as it is kept: `{"identity":{"anonymous_id":…,"login_id":…},"checksum":"…"}`.
///
/// The checksum is there because a damaged id is an id as well. It covers the object as it is written anew after
/// reading, so later versions may add keys to it.
enum IdentityRecord {
    static func encode(_ ids: UserIDs) -> [UInt8] {
        var identity: Properties = ["anonymous_id": .string(ids.anonymousID)]
        identity["login_id"] = ids.loginID.map { .string($0) }
        var writer = JSONWriter()
        writer.object(["identity": .object(identity), "checksum": .string(checksum(of: identity))])
        return writer.bytes
    }

    static func decode(_ bytes: [UInt8]) throws(SluiceError) -> UserIDs {
        guard case .object(let record) = try JSONReader.value(of: bytes),
            case .object(let identity) = record["identity"],
            case .string(let checksum) = record["checksum"],
            case .string(let anonymousID) = identity["anonymous_id"]
        else { throw SluiceError(.malformedLine, "no identity in it") }
        guard checksum == self.checksum(of: identity) else {
            throw SluiceError(.malformedLine, "its checksum is another one")
        }
        guard case .string(let loginID) = identity["login_id"] else {
            return UserIDs(anonymousID: anonymousID)
        }
        return UserIDs(anonymousID: anonymousID, loginID: loginID)
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
