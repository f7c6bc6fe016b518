#if !canImport(CryptoKit)
    import Foundation

    /// The functions of libcrypto that AES-256-GCM needs, looked up at run time: no headers, no package.
    struct LibCrypto: Sendable {
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
