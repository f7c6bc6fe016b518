import Sluice
import SluiceFiles

/// One place in which the bytes of an identity are kept.
struct IdentityPlace: Sendable {
    let name: String
    let read: @Sendable () throws -> [UInt8]?
    let write: @Sendable ([UInt8]) throws -> Void
    /// For damaged bytes, before others are written over them.
    var keepAside: @Sendable ([UInt8]) throws -> Void = { _ in }

    static func file(_ file: StateFile) -> IdentityPlace {
        IdentityPlace(
            name: file.path, read: { try file.read() }, write: { try file.write($0) },
            keepAside: { try StateFile(path: "\(file.path).corrupt").write($0) })
    }

    /// Nil if nothing was written there yet.
    func ids() throws(SluiceError) -> UserIDs? {
        guard let bytes = try attempt("read", read) else { return nil }
        do throws(SluiceError) {
            return try IdentityRecord.decode(bytes)
        } catch {
            throw SluiceError(
                .corruptIdentity,
                "\(name) is not what was written there: restore it from a backup, or call resetAnonymousID() to keep it "
                    + "aside and to go on as a new user",
                cause: error)
        }
    }

    /// Whether there is nothing, something else, or damaged bytes; one that cannot be read now is left alone.
    func hasLost(_ ids: UserIDs) -> Bool {
        do throws(SluiceError) {
            return try self.ids() != ids
        } catch {
            return error.code == .corruptIdentity
        }
    }

    func write(_ ids: UserIDs) throws(SluiceError) {
        try attempt("written") { try write(IdentityRecord.encode(ids)) }
    }

    func replace(by ids: UserIDs) throws(SluiceError) {
        do throws(SluiceError) {
            _ = try self.ids()
        } catch {
            guard error.code == .corruptIdentity else { throw error }
            try attempt("kept aside") {
                if let bytes = try read() { try keepAside(bytes) }
            }
        }
        try write(ids)
    }

    private func attempt<Result>(_ what: String, _ body: () throws -> Result) throws(SluiceError) -> Result {
        do {
            return try body()
        } catch {
            if let error = error as? SluiceError { throw error }
            throw SluiceError(
                .storageUnavailable, "the identity in \(name) cannot be \(what): try again, or choose another place",
                cause: error)
        }
    }
}
