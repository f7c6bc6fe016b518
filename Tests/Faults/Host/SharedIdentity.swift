import Sluice
import SluiceIdentity

/// One of several processes that share an identity. Obeys the commands on the standard input, and answers each of them
/// with a line.
struct SharedIdentity {
    private let directory: String
    private let identity: Identity
    private var lock: OpenFile?

    init(_ arguments: ArraySlice<String>) {
        guard let directory = arguments.first else { System.fail("identity: which directory?") }
        self.directory = directory
        identity = Identity(persistedIn: .file(directory))
        do {
            try identity.prepare()
        } catch {
            System.fail("\(error)")
        }
    }

    mutating func run() {
        while let line = System.nextLine() {
            let words = line.split(separator: " ").map(String.init)
            do throws(SluiceError) {
                System.write(Array("\(try answer(words))\n".utf8), to: 1)
            } catch {
                System.write(Array("error \(error.message)\n".utf8), to: 1)
            }
        }
    }

    private mutating func answer(_ words: [String]) throws(SluiceError) -> String {
        switch (words.first, words.count) {
        case ("login", 2): try identity.login(words[1])
        case ("logout", 1): try identity.logout()
        case ("erase", 1): return try identity.erase()
        case ("ids", 1): return "\(identity.anonymousID ?? "none") \(identity.loginID ?? "none")"
        case ("bind", 3):
            // Kinds with a prefix. Processes that wait for the lock look once per millisecond whether it is free, so
            // each change is followed by a pause of that length.
            for index in 0..<(Int(words[2]) ?? 0) {
                try identity.bind("\(words[1])\(index)", to: "x\(index)")
                SystemFileSystem.pause()
            }
        case ("event", 2):
            // The time of the event decides whether the file is read.
            return event(at: Int64(words[1]) ?? 0)
        case ("fork", 2):
            let child = System.fork()
            if child == 0 {
                do throws(SluiceError) {
                    // The parent's would refuse.
                    try Identity(persistedIn: .file(directory)).login(words[1])
                } catch {
                    System.note("\(error)")
                }
                System.leave()
            }
            System.wait(for: child)
        case ("lock", 1): lock = try StateFile("identity.json", in: directory).lock()
        case ("forever", 1):
            System.write(Array("started\n".utf8), to: 1)
            while true {
                for login in ["x", "y"] {
                    try identity.login(login)
                    SystemFileSystem.pause()
                }
            }
        default: System.fail("unknown command: \(words)")
        }
        return "done"
    }

    private func event(at time: Int64) -> String {
        var event = Event(
            id: EventID(high: 0, low: 0), name: "Event", time: Timestamp(milliseconds: time), properties: [:])
        _ = identity.process(&event)
        return "\(event.anonymousID ?? "none") \(event.loginID ?? "none")"
    }
}
