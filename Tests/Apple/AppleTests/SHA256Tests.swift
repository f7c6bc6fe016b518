import SluiceSystem
import Testing

@Suite("SHA-256 by CryptoKit")
struct SHA256Tests {
    @Test("the hashes of published texts are the published ones")
    func hashIsPublished() {
        #expect(
            sha256([]).hexadecimal == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            sha256(Array("abc".utf8)).hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
}
