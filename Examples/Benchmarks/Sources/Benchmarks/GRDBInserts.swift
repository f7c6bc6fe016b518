#if GRDB
    import Foundation
    import GRDB

    /// SQLite by GRDB: the ready line, inserted by a prepared statement.
    ///
    /// In WAL mode with `synchronous = NORMAL`, a commit hands its pages to the system and doesn't wait for the drive.
    /// `JSONLStore` promises the same by default.
    struct GRDBInserts: Candidate {
        let eventsPerTransaction: Int
        let workload: Workload

        var rows: [Row] {
            let inserts = eventsPerTransaction == 1 ? "an insert" : "\(eventsPerTransaction) inserts"
            return [
                Row(
                    name: eventsPerTransaction == 1 ? "grdb" : "grdb-\(eventsPerTransaction)",
                    description: "GRDB 7.10.0, \(inserts) a transaction", label: "GRDB, \(inserts) a transaction")
            ]
        }

        func measure(_ events: Int, in folder: String) throws -> [Double] {
            let lines = workload.lines[..<events].map { Data($0.dropLast()) }
            var configuration = Configuration()
            configuration.journalMode = .wal
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
            let database = try DatabaseQueue(path: folder + "/events.sqlite", configuration: configuration)
            try database.write { database in
                try database.execute(sql: "CREATE TABLE event (number INTEGER PRIMARY KEY, line BLOB NOT NULL)")
            }
            let time = CPUTime()
            for start in stride(from: 0, to: events, by: eventsPerTransaction) {
                try database.write { database in
                    let insert = try database.cachedStatement(sql: "INSERT INTO event (line) VALUES (?)")
                    for line in lines[start..<min(start + eventsPerTransaction, events)] {
                        try insert.execute(arguments: [line])
                    }
                }
            }
            let cost = time.nanoseconds(for: events)
            try database.read { database in
                try Failure.unless(Int.fetchOne(database, sql: "SELECT COUNT(*) FROM event") ?? 0, is: events, "rows")
                let mode = try String.fetchOne(database, sql: "PRAGMA journal_mode")
                let synchronous = try Int.fetchOne(database, sql: "PRAGMA synchronous")
                guard mode == "wal", synchronous == 1 else { throw Failure("SQLite is not in the mode asked for") }
            }
            try database.close()
            return [cost]
        }
    }
#endif
