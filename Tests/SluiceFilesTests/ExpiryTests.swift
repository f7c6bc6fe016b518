import Foundation
import Sluice
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceFiles

@Suite("Files that expire")
struct ExpiryTests {
    /// The clock shows 2026-01-01T00:00:00Z.
    let lake = LakeTest()

    private var dates: [String] { lake.visible.map { String($0.dropFirst(5).prefix(10)) } }

    private func send(_ transport: FileTransport, _ number: Int, daysBefore days: Int64) async throws -> Verdict {
        try await transport.send(Batch(id: 1, events: [try line(number, at: noon - days * day)])).list(1)[0]
    }

    @Test("files are removed when their date ended longer ago than the age, with their folders, and counted")
    func filesExpire() async throws {
        let writer = try lake.transport(.hour)
        for days in 0..<5 { #expect(try await send(writer, Int(days), daysBefore: Int64(days)).isAccepted) }
        try lake.directory.write([1], to: "lake/date=2025-12-28/notes.txt")
        try lake.directory.write([1], to: "lake/date=2025-12-28x/a.ndjson")
        // 2025-12-30 has ended a day before, 2025-12-29 two days.
        let transport = try lake.transport(.hour, maximumAge: .seconds(2 * 86_400))
        #expect(try await send(transport, 10, daysBefore: 0).isAccepted)
        #expect(dates == ["2025-12-28", "2025-12-30", "2025-12-31", "2026-01-01", "2026-01-01"])
        #expect(lake.paths.first == "date=2025-12-28/notes.txt")
        #expect(lake.notes.map { $0.hasPrefix("2 files with 2 events") } == [true])
        lake.time.advance(by: .seconds(86_400))
        #expect(try await send(transport, 11, daysBefore: -1).isAccepted)
        #expect(Set(dates) == ["2025-12-28", "2025-12-31", "2026-01-01", "2026-01-02"])
    }

    @Test("a date that can't be read, and files that can't be removed, are noted, and cost no other one")
    func failureCostsNoOtherDate() async throws {
        for number in 0..<20 {
            try lake.directory.write([1], to: "lake/date=2025-11-\(number + 10)/\(try name(number))")
            try FileManager.default.createSymbolicLink(
                atPath: "\(lake.path)/date=2025-10-\(number + 10)", withDestinationPath: lake.directory.path)
        }
        lake.files.fail(.removeFile, with: .accessDenied, below: ["\(lake.path)/date=2025-11-15"])
        let transport = try lake.transport(maximumAge: .seconds(2 * 86_400))
        #expect(try await send(transport, 10, daysBefore: 0).isAccepted)
        #expect(Set(dates) == ["2025-11-15", "2026-01-01"])
        #expect(lake.notes.contains { $0.hasPrefix("19 files with 19 events") })
        #expect(lake.notes.contains { $0.contains("can't be removed") })
    }

    @Test("a file that another process has removed first is no failure")
    func removedFileIsNoFailure() async throws {
        try lake.directory.write([1], to: "lake/date=2025-11-10/\(try name(1))")
        lake.files.fail(.removeFile, with: .noSuchFile, below: ["\(lake.path)/date="])
        #expect(try await send(lake.transport(maximumAge: .seconds(86_400)), 10, daysBefore: 0).isAccepted)
        #expect(lake.notes.isEmpty)
    }

    @Test(
        "a file stays that has only a part of a transport's name, or more events than a batch can have",
        arguments: [
            "all-events-of-the-last-month-of-this-year-20251130.ndjson",
            "part-00000-0b6f5a6d-1c0e-7bd1-b23c-1.ndjson.gz",
            "019ac3f0-6d2e-7bd1-b23c-0b6f5a6d1c0e-7.ndjson", "019ac3f0-6d2e-7bd1-b23c-0b6f5a6d1c0e-copy-7.ndjson",
            "019ac3f0-6d2e-7bd1-b23c-0b6f5a6d1c0e-5d0c-9223372036854775807.ndjson",
        ])
    func otherNamesStay(name: String) async throws {
        for date in ["2025-11-10", "2025-11-11"] { try lake.directory.write([1], to: "lake/date=\(date)/\(name)") }
        #expect(try await send(lake.transport(maximumAge: .seconds(86_400)), 10, daysBefore: 0).isAccepted)
        #expect(lake.paths.count == 3)
    }

    private func name(_ number: Int) throws -> String {
        EventFile(try batch(number..<number + 1)).name(isGzip: false)
    }

    @Test(
        "the shortest age of all transports on a folder counts, for the files of all of them",
        arguments: [(nil, 2), (2, nil), (10, 2), (2, 10)] as [(Int64?, Int64?)], [EventPartition.day, .hour])
    func shortestAgeCounts(days: (Int64?, Int64?), partition: EventPartition) async throws {
        func age(_ days: Int64?) -> Duration? { days.map { .seconds($0 * 86_400) } }
        let transports = [
            try lake.transport(maximumAge: age(days.0)),
            try lake.transport(gzip: true, partition, maximumAge: age(days.1)),
        ]
        for launch in 0..<2 {
            for (index, transport) in transports.enumerated() {
                let number = launch * 2 + index
                #expect(try await send(transport, number, daysBefore: Int64(launch) * -4).isAccepted)
            }
            #expect(dates == Array(repeating: launch == 0 ? "2026-01-01" : "2026-01-05", count: 2))
            lake.time.advance(by: .seconds(4 * 86_400))
        }
    }

    @Test("without an age, nothing is removed")
    func nothingExpiresByDefault() async throws {
        let transport = try lake.transport()
        for days in [3_000, 0] { #expect(try await send(transport, days, daysBefore: Int64(days)).isAccepted) }
        #expect(lake.visible.count == 2)
    }

    @Test("an event that is too old becomes a dead letter: its file would be removed")
    func oldEventIsUnsendable() async throws {
        let transport = try lake.transport(maximumAge: .seconds(2 * 86_400))
        #expect(try await send(transport, 1, daysBefore: 2).isAccepted)
        #expect(try await send(transport, 2, daysBefore: 3).kind == .unsendable)
        #expect(lake.visible.count == 1)
    }

    @Test("a clock that is years ahead removes nothing, in later processes either, beside an event of the year 9999")
    func wrongClockRemovesNothing() async throws {
        _ = try await send(lake.transport(), 1, daysBefore: 0)
        _ = try await send(lake.transport(), 2, daysBefore: -2_900_000)
        for days: Int64 in 400..<403 {
            lake.time.advance(by: .seconds(days == 400 ? 400 * 86_400 : 86_400))
            let transport = try lake.transport(maximumAge: .seconds(2 * 86_400))
            #expect(try await send(transport, Int(days), daysBefore: -days).isAccepted)
        }
        #expect(lake.visible.count == 5)
        #expect(lake.notes.map { $0.hasPrefix("1 dates") } == [true, true, true])
    }

    /// What the clocks of a process do, in days, and the dates that are left of 2026-01-01, -07 and -14 after a write.
    static let clocks: [(set: [Int64], passed: Int64, left: [String])] = [
        (set: [30], passed: 0, left: ["01", "07", "14"]), (set: [9, -20], passed: 0, left: ["01", "07", "14"]),
        (set: [500], passed: 1, left: ["01", "07", "14"]), (set: [], passed: 12, left: ["07", "14"]),
        (set: [-3_000], passed: 20, left: ["01", "07", "14"]), (set: [], passed: 399, left: []),
        (set: [2], passed: 800, left: []),
    ]

    /// The days by which the clock is ahead at the opening, the days that pass before and after its correction, and the days by
    /// which it stays wrong. Then the days before today of events, and which of them are refused.
    static let corrections: [(ahead: Int64, passed: [Int64], error: Int64, days: [Int64], refused: [Int64])] = [
        (ahead: 40, passed: [0, 0], error: 0, days: [0, 9, 12], refused: [12]),
        (ahead: 400, passed: [2, 30], error: 1, days: [7, 30, 3], refused: [30]),
        (ahead: 9_000, passed: [0, 500], error: -3, days: [13, 8, 15], refused: [15]),
        (ahead: -5_000, passed: [1, 0], error: 0, days: [0, 900, 6_000], refused: [6_000]),
    ]

    @Test("a clock that was wrong at the opening refuses no events when it is right", arguments: corrections)
    func correctedClockRefusesNothing(
        ahead: Int64, passed: [Int64], error: Int64, days: [Int64], refused: [Int64]
    ) async throws {
        func set(by days: Int64) {
            lake.time.setWallTime(Timestamp(milliseconds: lake.time.wallTime().milliseconds + days * day))
        }
        set(by: ahead)
        let transport = try lake.transport(maximumAge: .seconds(10 * 86_400))
        lake.time.advance(by: .seconds(passed[0] * 86_400))
        set(by: error - ahead)
        lake.time.advance(by: .seconds(passed[1] * 86_400))
        for (number, before) in days.enumerated() {
            let verdict = try await send(transport, number, daysBefore: before - passed[0] - passed[1])
            #expect(verdict.isAccepted == !refused.contains(before))
        }
    }

    @Test(
        "in a process, files expire by the time that passes, not by a wall clock that is set forth", arguments: clocks)
    func setClockExpiresNothing(set: [Int64], passed: Int64, left: [String]) async throws {
        let transport = try lake.transport(maximumAge: .seconds(10 * 86_400))
        for (number, days): (Int, Int64) in [(1, 0), (2, 6), (3, 13)] {
            #expect(try await send(transport, number, daysBefore: -days).isAccepted)
        }
        for (number, days) in set.enumerated() {
            lake.time.setWallTime(Timestamp(milliseconds: lake.time.wallTime().milliseconds + days * day))
            #expect(try await send(transport, 10 + number, daysBefore: -1_000).isAccepted)
        }
        lake.time.advance(by: .seconds(passed * 86_400))
        #expect(try await send(transport, 4, daysBefore: -1_000).isAccepted)
        #expect(dates.filter { $0.hasPrefix("2026") } == left.map { "2026-01-\($0)" })
        #expect(!lake.notes.contains { $0.contains("are kept") })
    }
}
