/// AES-256-GCM of the system: CryptoKit on Apple's platforms, OpenSSL's libcrypto elsewhere.
#if canImport(CryptoKit)
    import CryptoKit
    import Foundation

    struct SystemCipher: Sendable {
        private let key: SymmetricKey

        init(key: [UInt8]) throws {
            try Failure.require(key)
            self.key = SymmetricKey(data: key)
        }

        func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
            // The combined form starts with the nonce, which is new each time.
            guard let encrypted = try AES.GCM.seal(bytes, using: key).combined else {
                throw CryptoKitError.incorrectKeySize
            }
            return Array(encrypted)
        }

        func decrypt(_ encrypted: [UInt8]) throws -> [UInt8] {
            Array(try AES.GCM.open(AES.GCM.SealedBox(combined: encrypted), using: key))
        }
    }
#else
    import Foundation

    struct SystemCipher: Sendable {
        private let key: [UInt8]
        private let crypto: LibCrypto

        init(key: [UInt8]) throws {
            // libcrypto reads 32 bytes, also of a shorter key.
            try Failure.require(key)
            self.key = key
            crypto = try LibCrypto()
        }

        func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
            let nonce = (0..<12).map { _ in UInt8.random(in: .min ... .max) }
            return nonce + (try run(isEncrypting: true, bytes, nonce: nonce))
        }

        func decrypt(_ encrypted: [UInt8]) throws -> [UInt8] {
            guard encrypted.count >= 28 else { throw Failure(description: "too short for a nonce and a tag") }
            return try run(isEncrypting: false, Array(encrypted.dropFirst(12)), nonce: Array(encrypted.prefix(12)))
        }

        /// Encrypted bytes end with a tag of 16 bytes.
        private func run(isEncrypting: Bool, _ bytes: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
            let context = crypto.new()
            defer { crypto.free(context) }
            var tag = isEncrypting ? [UInt8](repeating: 0, count: 16) : Array(bytes.suffix(16))
            let input = isEncrypting ? bytes : Array(bytes.dropLast(16))
            var output = [UInt8](repeating: 0, count: input.count)
            var count: CInt = 0
            var isWell = crypto.start(context, crypto.aes256GCM(), nil, key, nonce, isEncrypting ? 1 : 0) == 1
            isWell = isWell && crypto.update(context, &output, &count, input, CInt(input.count)) == 1
            if !isEncrypting { isWell = isWell && crypto.control(context, 0x11, 16, &tag) == 1 }
            isWell = isWell && crypto.finish(context, &output, &count) == 1
            if isEncrypting { isWell = isWell && crypto.control(context, 0x10, 16, &tag) == 1 }
            guard isWell else { throw Failure(description: "the bytes were not encrypted with this key") }
            return isEncrypting ? output + tag : output
        }
    }
#endif

extension SystemCipher {
    struct Failure: Error, CustomStringConvertible {
        let description: String

        static func require(_ key: [UInt8]) throws {
            guard key.count == 32 else { throw Failure(description: "the key has \(key.count) bytes: use one of 32") }
        }
    }
}
