// Events that nobody can read who has the disk but not the key. A later process delivers them with the right key, and
// leaves them alone with another one.
//
//     swift run EncryptedStoreExample

import Foundation
import SluiceJSONL
import SluiceStdout

/// Keep your key in a keychain or a secret store. This example makes one up.
func newKey() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

func pipeline(in folder: String, key: [UInt8], onDiagnostic: @escaping @Sendable (Diagnostic) -> Void) throws
    -> Pipeline
{
    let cipher = try SystemCipher(key: key)
    return try Pipeline(onDiagnostic: onDiagnostic) {
        JSONLStore(
            at: folder,
            encryption: LineEncryption(encrypt: { try cipher.encrypt($0) }, decrypt: { try cipher.decrypt($0) }))
        StdoutTransport()
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-encrypted-\(UUID().uuidString)")
let key = newKey()

print("# The files on disk")
let first = try pipeline(in: folder.path, key: key) { print($0) }
first.pauseDelivery()  // As if there were no network.
first.track("Diagnosis", ["patient": "P-17", "code": "J45"])
await first.shutdown(timeout: .zero)
let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
let lines = try files.filter { $0.pathExtension == "jsonl" }.map { try String(contentsOf: $0, encoding: .utf8) }
    .joined()
print(lines, terminator: "")
precondition(lines.contains("sealed") && !lines.contains("Diagnosis") && !lines.contains("J45"))

print("\n# With another key: nothing is delivered, nothing is lost")
let stranger = try pipeline(in: folder.path, key: newKey()) { print($0) }
let refused = await stranger.shutdown(timeout: .seconds(5))
precondition(refused.routes[0].delivered == 0)

print("\n# With the key")
let second = try pipeline(in: folder.path, key: key) { print($0) }
let ledger = await second.shutdown(timeout: .seconds(5))
precondition(ledger.routes[0].delivered == 1 && ledger.isBalanced)
try FileManager.default.removeItem(at: folder)
