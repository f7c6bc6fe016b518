package import SluiceEvents

/// Encryption at rest, for the events of a `JSONLStore` and the state of plugins. Your code encrypts each line when it is
/// stored, and decrypts it when it is read.
///
/// ```swift
/// let encryption = LineEncryption(encrypt: { try cipher.encrypt($0) }, decrypt: { try cipher.decrypt($0) })
/// let store = JSONLStore(at: stateDirectory, encryption: encryption)
/// ```
///
/// The store writes the encrypted bytes as `{"sealed":"<base64>","crc":"…"}`, so its files stay JSON Lines. If you
/// turn on encryption later, the earlier plain lines are still delivered. If a line can't be decrypted, its segment
/// stays on disk and is reported; a later process with the right key delivers it.
///
/// Pass one encryption to several stores and plugins if they share a key:
///
/// ```swift
/// let urgent = JSONLStore(at: queueDirectory, encryption: encryption)
/// let identity = Identity(persistedIn: .file(stateDirectory).encrypted(with: encryption))
/// ```
///
/// Don't bind the encryption to a line's position: the store may move lines between files.
///
/// ## Rotate keys
/// Give each key an id. The id is stored in plain text with each line, as `"key":"2026-11"`, so later programs know which key
/// to use. New lines are encrypted with the current key. Remove an old key when no line has its id any more: for a store, at
/// the latest when the events and dead letters from its time have expired. The state of a plugin keeps its old key until it
/// changes:
///
/// ```swift
/// let rotated = LineEncryption(keyID: "2026-11") { try cipher.encrypt($0) } decrypt: { bytes, keyID in
///     switch keyID {
///     case "2026-11": try cipher.decrypt(bytes)
///     default: try oldCipher.decrypt(bytes)  // "2026-05", and lines without an id
///     }
/// }
/// ```
public struct LineEncryption: Sendable {
    private let keyID: String?
    private let encrypt: @Sendable (_ line: [UInt8]) throws -> [UInt8]
    private let decrypt: @Sendable (_ encrypted: [UInt8], _ keyID: String?) throws -> [UInt8]

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
        self.keyID = nil
        self.encrypt = encrypt
        self.decrypt = { encrypted, _ in try decrypt(encrypted) }
    }

    /// Creates an encryption that can read the lines of several keys.
    ///
    /// - Parameters:
    ///   - keyID: the id of the key that `encrypt` uses: 1 to 64 letters, digits, `-`, `_` and `.` in ASCII. With any other
    ///     id, opening the store throws. Choose a name, such as a date, and not a part of the key.
    ///   - encrypt: encrypts and authenticates a line: see ``init(encrypt:decrypt:)``.
    ///   - decrypt: returns the line that was encrypted with the key of this id. The id is nil for lines that were encrypted
    ///     without a key id. Throw if you don't have the key: the line then stays on disk.
    public init(
        keyID: String,
        encrypt: @escaping @Sendable (_ line: [UInt8]) throws -> [UInt8],
        decrypt: @escaping @Sendable (_ encrypted: [UInt8], _ keyID: String?) throws -> [UInt8]
    ) {
        self.keyID = keyID
        self.encrypt = encrypt
        self.decrypt = decrypt
    }

    // A constant of the compiler: each line is compared with it.
    private static var prefix: StaticString { #"{"sealed":""# }
    private static let keyPrefix = Array(#"","key":""#.utf8)
    private static let suffix = Array(#""}"#.utf8)

    /// - Throws: ``SluiceError/Code/invalidArgument`` if the id of the key can't be stored.
    package func validate() throws(SluiceError) {
        guard let keyID else { return }
        try SluiceError.require(
            (1...64).contains(keyID.utf8.count)
                && keyID.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || "-_.".contains($0) },
            "the id of the encryption's key can't be stored: use 1 to 64 letters, digits, -, _ and . in ASCII")
    }

    package func encrypted(_ line: ArraySlice<UInt8>) throws(SluiceError) -> ArraySlice<UInt8> {
        let sealed: [UInt8]
        do {
            sealed = try encrypt(Array(line))
        } catch {
            throw SluiceError(.inputOutput, "the encryption has failed: check the key", cause: error)
        }
        let key = keyID.map { LineEncryption.keyPrefix + Array($0.utf8) } ?? []
        let opening = Array(LineEncryption.prefix.description.utf8)
        return (opening + Base64.encode(sealed) + key + LineEncryption.suffix)[...]
    }

    /// Whether a line is encrypted.
    package static func isSealed(_ line: ArraySlice<UInt8>) -> Bool {
        line.withUnsafeBytes { $0.starts(with: prefix) }
    }

    /// Returns the decrypted bytes of a line, or a plain line as it is.
    ///
    /// - Throws: an error if the line is encrypted and can't be decrypted.
    package static func decrypted(
        _ line: ArraySlice<UInt8>, _ encryption: LineEncryption?
    ) throws -> ArraySlice<UInt8> {
        guard isSealed(line) else { return line }
        guard let encryption else {
            throw SluiceError(.storageUnavailable, "the line is encrypted: give the store its encryption")
        }
        let parts = line.dropFirst(prefix.utf8CodeUnitCount).dropLast(suffix.count)
            .split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
        // The base64, and then: `,`, `key`, `:` and the id.
        guard let encrypted = parts.first.flatMap({ Base64.decode($0) }) else {
            throw SluiceError(.malformedLine, "an encrypted line is not in base64")
        }
        switch parts.count {
        case 1: return try encryption.decrypt(encrypted, nil)[...]
        case 5 where parts[2].elementsEqual("key".utf8):
            return try encryption.decrypt(encrypted, String(decoding: parts[4], as: UTF8.self))[...]
        default: throw SluiceError(.malformedLine, "an encrypted line is of a later version")
        }
    }
}
