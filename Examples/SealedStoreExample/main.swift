// Events that nobody can read who has the disk but not the key. What lies in the files is sealed; with the right key a
// later life delivers it, with another one it is left alone.
//
//     swift run SealedStoreExample

import Foundation
import Sluice
import SluiceJSONL
import SluiceStdout

/// A host would keep its key in a keychain or a secret store; this one makes it up.
func newKey() -> [UInt8] { (0..<32).map { _ in UInt8.random(in: .min ... .max) } }

func pipeline(in folder: String, key: [UInt8], onDiagnostic: @escaping @Sendable (Diagnostic) -> Void) throws
    -> Pipeline
{
    let cipher = try SystemCipher(key: key)
    return try Pipeline(onDiagnostic: onDiagnostic) {
        JSONLStore(at: folder, sealing: LineSealing(seal: { try cipher.seal($0) }, open: { try cipher.open($0) }))
        StdoutTransport()
    }
}

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-sealed-\(UUID().uuidString)")
let key = newKey()

print("# What lies on disk")
let first = try pipeline(in: folder.path, key: key) { print($0) }
first.pauseDelivery()  // As if there were no network.
first.track("Diagnosis", ["patient": "P-17", "code": "J45"])
await first.shutdown(deadline: .zero)
let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
let lines = try files.filter { $0.pathExtension == "jsonl" }.map { try String(contentsOf: $0, encoding: .utf8) }
    .joined()
print(lines, terminator: "")
precondition(lines.contains("sealed") && !lines.contains("Diagnosis") && !lines.contains("J45"))

print("\n# With another key: nothing is delivered, nothing is lost")
let stranger = try pipeline(in: folder.path, key: newKey()) { print($0) }
let refused = await stranger.shutdown(deadline: .seconds(5))
precondition(refused.routes[0].delivered == 0)

print("\n# With the key")
let second = try pipeline(in: folder.path, key: key) { print($0) }
let ledger = await second.shutdown(deadline: .seconds(5))
precondition(ledger.routes[0].delivered == 1 && ledger.isBalanced)
try FileManager.default.removeItem(at: folder)
