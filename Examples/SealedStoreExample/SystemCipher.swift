/// AES-256-GCM by what the system brings along: CryptoKit on Apple's platforms, OpenSSL's libcrypto elsewhere.
#if canImport(CryptoKit)
    import CryptoKit
    import Foundation

    struct SystemCipher: Sendable {
        private let key: SymmetricKey

        init(key: [UInt8]) throws {
            self.key = SymmetricKey(data: key)
        }

        func seal(_ bytes: [UInt8]) throws -> [UInt8] {
            // The nonce is new each time, and stands in front.
            guard let sealed = try AES.GCM.seal(bytes, using: key).combined else {
                throw CryptoKitError.incorrectKeySize
            }
            return Array(sealed)
        }

        func open(_ sealed: [UInt8]) throws -> [UInt8] {
            Array(try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key))
        }
    }
#else
    import Foundation

    struct SystemCipher: Sendable {
        private let key: [UInt8]
        private let crypto: LibCrypto

        struct Failure: Error, CustomStringConvertible {
            let description: String
        }

        init(key: [UInt8]) throws {
            self.key = key
            crypto = try LibCrypto()
        }

        func seal(_ bytes: [UInt8]) throws -> [UInt8] {
            let nonce = (0..<12).map { _ in UInt8.random(in: .min ... .max) }
            return nonce + (try run(isSealing: true, bytes, nonce: nonce))
        }

        func open(_ sealed: [UInt8]) throws -> [UInt8] {
            guard sealed.count >= 28 else { throw Failure(description: "too short to have been sealed") }
            return try run(isSealing: false, Array(sealed.dropFirst(12)), nonce: Array(sealed.prefix(12)))
        }

        /// What is sealed ends with its tag of 16 bytes.
        private func run(isSealing: Bool, _ bytes: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
            let context = crypto.new()
            defer { crypto.free(context) }
            var tag = isSealing ? [UInt8](repeating: 0, count: 16) : Array(bytes.suffix(16))
            let input = isSealing ? bytes : Array(bytes.dropLast(16))
            var output = [UInt8](repeating: 0, count: input.count)
            var count: CInt = 0
            var isWell = crypto.start(context, crypto.aes256GCM(), nil, key, nonce, isSealing ? 1 : 0) == 1
            isWell = isWell && crypto.update(context, &output, &count, input, CInt(input.count)) == 1
            if !isSealing { isWell = isWell && crypto.control(context, 0x11, 16, &tag) == 1 }
            isWell = isWell && crypto.finish(context, &output, &count) == 1
            if isSealing { isWell = isWell && crypto.control(context, 0x10, 16, &tag) == 1 }
            guard isWell else { throw Failure(description: "not what was sealed with this key") }
            return isSealing ? output + tag : output
        }
    }
#endif
