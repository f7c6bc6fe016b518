import SluiceSystem
import Testing

@Suite("SHA-256")
struct SHA256Tests {
    @Test(
        "the hashes of published texts are the published ones (FIPS 180-2, appendix B, and NIST's test vectors)",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ])
    func hashIsPublished(text: String, hash: String) {
        #expect(sha256(Array(text.utf8)).hexadecimal == hash)
    }

    @Test("every length around a block has its own hash")
    func lengthsDiffer() {
        let hashes = Set((0...200).map { sha256([UInt8](repeating: 0, count: $0)).hexadecimal })
        #expect(hashes.count == 201)
        // By sha256sum.
        #expect(
            sha256([UInt8](repeating: 0x61, count: 55)).hexadecimal
                == "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318")
    }
}
