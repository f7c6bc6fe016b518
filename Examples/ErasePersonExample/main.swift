// A server erases the events of one person: in its own files, and in the files of processes that have ended.
//
//     swift run ErasePersonExample

import Foundation
import SluiceFilters
import SluiceJSONL
import SluiceTesting

let folder = FileManager.default.temporaryDirectory.appending(path: "sluice-people-\(UUID().uuidString)")

/// Keep your key in a secret store: with it, anybody can find out who a pseudonym is.
let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
let pseudonyms = Pseudonyms(key: key, properties: ["email"])

/// The receiver records what it gets. Delivery is paused, as if there were no network.
func server(_ receiver: ScriptedTransport) throws -> Pipeline {
    try Pipeline(isDeliveryPaused: true) {
        pseudonyms
        JSONLStore(at: folder.path)
        receiver
    }
}

func track(_ pipeline: Pipeline, _ users: [String]) {
    for user in users {
        pipeline.track("Order", ["email": .string("\(user)@example.com")]) { $0.distinctID = user }
    }
}

/// The text of all files that stores have written.
func filesContain(_ text: String) throws -> Bool {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL }
    return try (files ?? []).filter { $0.pathExtension == "jsonl" }.contains { file in
        try String(contentsOf: file, encoding: .utf8).contains(text)
    }
}

print("# A process that has ended")
let first = try server(ScriptedTransport())
track(first, ["42", "7", "42"])
print(await first.shutdown(timeout: .zero).routes[0])

print("\n# The next one, and another one beside it")
let receiver = ScriptedTransport()
let second = try server(receiver)
track(second, ["7", "42", "8"])
let neighbour = JSONLStore(at: folder.path)  // In this example, a store of its own stands for another process.
try neighbour.open()
try neighbour.append(EventLine(Event(name: "Order", distinctID: pseudonyms.pseudonym(of: "42"))))
let isReadable = try filesContain("@example.com")
precondition(!isReadable)  // The files have pseudonyms only.

print("\n# 42 asks for access")
let person = pseudonyms.pseudonym(of: "42")
let (events, unreadable) = try JSONLStore.export(at: folder.path) { $0.belongs(to: person) }
print("\(events.count) events wait, \(unreadable.count) files can't be read")
precondition(events.count == 4)

print("\n# 42 asks for erasure")
let report = await second.erase { $0.belongs(to: person) }
print("\(report.events) events are erased; the folder of the other process is left:", report.left.count)
precondition(report.events == 3 && report.left.count == 1 && !report.isComplete)

print("\n# The other process ends, and the events of others are delivered")
neighbour.close()
second.resumeDelivery()
await second.flush()
let users = try receiver.accepted().map { $0.distinctID == pseudonyms.pseudonym(of: "7") ? "7" : "8" }
print("delivered events of", users.joined(separator: ", "))
precondition(users == ["7", "7", "8"])
let isLeft = try filesContain(person)  // Its folder was erased before the delivery.
precondition(!isLeft)
let ledger = await second.shutdown()
print(ledger.routes[0])
precondition(ledger.isBalanced)
try FileManager.default.removeItem(at: folder)
