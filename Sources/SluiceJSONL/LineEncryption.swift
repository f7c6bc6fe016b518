internal import Sluice

/// Encryption at rest for ``JSONLStore``. Your code encrypts each line when it is stored, and decrypts it when it is
/// read.
///
/// ```swift
/// let encryption = LineEncryption(encrypt: { try cipher.encrypt($0) }, decrypt: { try cipher.decrypt($0) })
/// let store = JSONLStore(at: stateDirectory, encryption: encryption)
/// ```
///
/// The store writes the encrypted bytes as `{"sealed":"<base64>","crc":"…"}`, so its files stay JSON Lines. If you
/// turn encryption on later, the earlier plain lines are still delivered. If a line can't be decrypted, its segment
/// stays on disk and is reported; a later process with the right key delivers it.
///
/// Pass one encryption to several stores if they share a key:
///
/// ```swift
/// let urgent = JSONLStore(at: queueDirectory, encryption: encryption)
/// ```
///
/// Don't bind the encryption to a line's position: the store may move lines between files.
public struct LineEncryption: Sendable {
    private let encrypt: @Sendable (_ line: [UInt8]) throws -> [UInt8]
    private let decrypt: @Sendable (_ encrypted: [UInt8]) throws -> [UInt8]

    /// Creates an encryption from two functions.
    ///
    /// ```swift
    /// let encryption = LineEncryption {
    ///     try cipher.encrypt($0)
    /// } decrypt: {
    ///     try cipher.decrypt($0)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - encrypt: encrypts and authenticates a line, for example with AES-GCM and a fresh nonce that is part of the
    ///     result. It is called on the thread that tracks the event. If it throws, the event is refused.
    ///   - decrypt: returns the line that `encrypt` was given. It is called by the delivery loop.
    public init(
        encrypt: @escaping @Sendable (_ line: [UInt8]) throws -> [UInt8],
        decrypt: @escaping @Sendable (_ encrypted: [UInt8]) throws -> [UInt8]
    ) {
        self.encrypt = encrypt
        self.decrypt = decrypt
    }

    private static let prefix = Array(#"{"sealed":""#.utf8)
    private static let suffix = Array(#""}"#.utf8)

    func encrypted(_ line: ArraySlice<UInt8>) throws(SluiceError) -> ArraySlice<UInt8> {
        do {
            return (LineEncryption.prefix + Base64.encode(try encrypt(Array(line))) + LineEncryption.suffix)[...]
        } catch {
            throw SluiceError(.inputOutput, "the event could not be encrypted: check the key", cause: error)
        }
    }

    /// Returns the event of a line. A plain line is the event.
    ///
    /// - Throws: an error if the line is encrypted and can't be decrypted.
    static func event(in line: ArraySlice<UInt8>, _ encryption: LineEncryption?) throws -> ArraySlice<UInt8> {
        guard line.starts(with: prefix) else { return line }
        guard let encryption else {
            throw SluiceError(.storageUnavailable, "the line is encrypted: give the store its encryption")
        }
        guard let encrypted = Base64.decode(line.dropFirst(prefix.count).dropLast(suffix.count)) else {
            throw SluiceError(.malformedLine, "an encrypted line is not in base64")
        }
        let event = try encryption.decrypt(encrypted)[...]
        guard LineFormat.canStore(event) else {
            throw SluiceError(.malformedLine, "the decrypted bytes are not an event: the key is a different one")
        }
        return event
    }
}
