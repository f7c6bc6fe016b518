import Testing

@testable import EncryptedStoreExample

@Suite("The cipher of EncryptedStoreExample")
struct CipherTests {
    @Test("a key that hasn't 32 bytes is refused: libcrypto would read on behind it", arguments: [0, 16, 31, 33])
    func keyOfOtherLengthIsRefused(length: Int) {
        #expect(throws: (any Error).self) { try SystemCipher(key: [UInt8](repeating: 1, count: length)) }
    }

    @Test("what one key has encrypted, no other one decrypts", arguments: [0, 1, 70_000])
    func bytesComeBack(count: Int) throws {
        let bytes = [UInt8](repeating: 7, count: count)
        let cipher = try SystemCipher(key: newKey())
        let encrypted = try cipher.encrypt(bytes)
        #expect(try cipher.decrypt(encrypted) == bytes && cipher.encrypt(bytes) != encrypted)
        #expect(throws: (any Error).self) { try SystemCipher(key: newKey()).decrypt(encrypted) }
        #expect(throws: (any Error).self) { try cipher.decrypt(Array(encrypted.dropLast())) }
    }
}
