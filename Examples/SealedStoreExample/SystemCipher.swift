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
        private let crypto: Crypto

        struct Failure: Error, CustomStringConvertible {
            let description: String
        }

        init(key: [UInt8]) throws {
            self.key = key
            crypto = try Crypto()
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

    /// The few functions of libcrypto that it takes, looked up at run time: no headers, no package.
    private struct Crypto: Sendable {
        typealias Pointer = UnsafeMutableRawPointer
        typealias Bytes = UnsafePointer<UInt8>
        typealias Output = UnsafeMutablePointer<UInt8>
        typealias Count = UnsafeMutablePointer<CInt>

        let new: @convention(c) () -> Pointer?
        let free: @convention(c) (Pointer?) -> Void
        let aes256GCM: @convention(c) () -> Pointer?
        let start: @convention(c) (Pointer?, Pointer?, Pointer?, Bytes, Bytes, CInt) -> CInt
        let update: @convention(c) (Pointer?, Output, Count, Bytes, CInt) -> CInt
        let finish: @convention(c) (Pointer?, Output, Count) -> CInt
        let control: @convention(c) (Pointer?, CInt, CInt, Output) -> CInt

        init() throws {
            guard let library = dlopen("libcrypto.so.3", RTLD_NOW) ?? dlopen("libcrypto.so.1.1", RTLD_NOW) else {
                throw SystemCipher.Failure(description: "this system has no libcrypto")
            }
            func function<Function>(_ name: String) throws -> Function {
                guard let symbol = dlsym(library, name) else {
                    throw SystemCipher.Failure(description: "libcrypto has no \(name)")
                }
                return unsafeBitCast(symbol, to: Function.self)
            }
            new = try function("EVP_CIPHER_CTX_new")
            free = try function("EVP_CIPHER_CTX_free")
            aes256GCM = try function("EVP_aes_256_gcm")
            start = try function("EVP_CipherInit_ex")
            update = try function("EVP_CipherUpdate")
            finish = try function("EVP_CipherFinal_ex")
            control = try function("EVP_CIPHER_CTX_ctrl")
        }
    }
#endif
