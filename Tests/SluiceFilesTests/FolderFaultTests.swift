import Foundation
import Sluice
import SluiceGzip
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceFiles

@Suite("A lake's folder that fails")
struct FolderFaultTests {
    let lake = LakeTest()

    @Test(
        "whichever operation fails, no event is accepted that isn't in a file, none is in two, and no file is incomplete",
        arguments: [
            FaultyFileSystem.Operation.open, .create, .write, .synchronize, .status, .makeDirectory, .list, .rename,
            .lock, .synchronizeDirectory,
        ])
    func everyFaultIsHeld(operation: FaultyFileSystem.Operation) async throws {
        let batch = try batch(0..<6) { noon + Int64($0 / 3) * day }
        for call in 0..<30 {
            let trial = LakeTest()
            trial.files.fail(operation, with: .inputOutput, after: call, times: 1)
            let transport = try trial.transport()
            let verdicts = try await transport.send(batch).list(6)
            let written = try trial.numbers()
            for (number, verdict) in verdicts.enumerated() where verdict.isAccepted {
                #expect(written.contains(number))
            }
            for verdict in verdicts where !verdict.isAccepted {
                #expect(verdict.kind == .hold && verdict.reason.contains(trial.path))
            }
            let open = verdicts.indices.filter { !verdicts[$0].isAccepted }
            if !open.isEmpty {
                let rest = Batch(id: 1, events: open.map { batch.events[$0] })
                #expect(try await transport.send(rest).list(open.count).allSatisfy(\.isAccepted))
            }
            #expect(try trial.numbers() == Array(0..<6))
            #expect(trial.paths == trial.visible)
        }
    }

    @Test("each folder up to the lake survives a loss of power, and none above it", arguments: ["", "/lake"])
    func synchronizesToLake(lake name: String) throws {
        let (root, files) = (name.isEmpty ? "/" : lake.path, lake.files)
        if root != "/" {
            try FileManager.default.createDirectory(atPath: "\(root)/tmp", withIntermediateDirectories: true)
        }
        try Lake(root, files, random: { 1 }).synchronize("tmp")
        #expect(files.calls(.synchronizeDirectory) == 2)
    }

    @Test(
        "a full disk holds the events with a sentence, and they are written when there is space", arguments: [0, 100])
    func fullDiskHolds(space: Int) async throws {
        let transport = try lake.transport()
        lake.files.limitSpace(to: space)
        let verdict = try await transport.send(batch(0..<3)).list(3)[0]
        let place = #"date=2026-01-01 of the folder "\#(lake.path)""#
        #expect(verdict == .hold(reason: "\(place) is on a full disk: free some space (\(FileError.noSpace))"))
        #expect(lake.paths.isEmpty)
        lake.files.heal()
        #expect(try await transport.send(batch(0..<3)) == .all(.accepted))
    }

    @Test(
        "a folder without write access holds the events, too many open files are retried, and a too large file is divided",
        arguments: [
            (.makeDirectory, .readOnly, .hold, "can't be written to"),
            (.makeDirectory, .accessDenied, .hold, "can't be written to"),
            (.makeDirectory, .notPermitted, .hold, "can't be written to"),
            (.create, .tooManyOpenFiles, .retry(after: nil), "can't be opened now"),
            (.write, .fileTooLarge, .tooLarge, "too large"),
        ] as [(FaultyFileSystem.Operation, FileError, Verdict.Kind, String)])
    func faultIsVerdict(
        operation: FaultyFileSystem.Operation, error: FileError, kind: Verdict.Kind, reason: String
    ) async throws {
        lake.files.fail(operation, with: error)
        let verdict = try await lake.transport().send(batch(0..<3)).list(3)[0]
        #expect(verdict.kind == kind && verdict.reason.contains(reason))
    }

    @Test(
        "a date that can't be written to holds its own events, and is named: those of all other dates are accepted",
        arguments: [
            (0, .day, true, "notes.txt"), (2, .hour, false, "an unmounted drive"), (4, .day, false, ""),
        ] as [(Int, EventPartition, Bool, String)])
    func failedDateCostsNoOther(number: Int, partition: EventPartition, gzip: Bool, obstacle: String) async throws {
        let (batch, date) = (try batch(0..<10) { noon + Int64($0 % 5) * day }, "date=2026-01-0\(number + 1)")
        try lake.directory.write([1], to: "lake/notes.txt")
        if obstacle.isEmpty {
            lake.files.fail(.open, with: .accessDenied, below: ["\(lake.path)/\(date)"])
        } else {
            try FileManager.default.createSymbolicLink(
                atPath: "\(lake.path)/\(date)", withDestinationPath: "\(lake.path)/\(obstacle)")
        }
        for launch in 0..<2 {
            let verdicts = try await lake.transport(gzip: gzip, partition).send(batch).list(10)
            #expect(verdicts.indices.filter { !verdicts[$0].isAccepted } == [number, number + 5])
            #expect(verdicts[number].kind == .hold && verdicts[number].reason.hasPrefix("\(date)"))
            #expect(verdicts.count { $0 == (launch == 0 ? .accepted : .duplicate) } == 8)
        }
        lake.files.heal()
        if !obstacle.isEmpty { lake.directory.remove("lake/\(date)") }
        #expect(try await lake.transport(gzip: gzip, partition).send(batch).list(10).allSatisfy(\.isAccepted))
        #expect(lake.visible.count == 5 && lake.paths.count == 6)
    }

    @Test("without memory to compress the end of a file, its events are retried, and no part of it stays")
    func missingMemoryIsRetried() async throws {
        let deflater = Deflater(begin: { { _, isLast in isLast ? nil : [1] } })
        let calendar = EventCalendar(.day) { _ in .zero }
        let transport = FileTransport(
            at: lake.path, gzip: true, calendar, nil, files: lake.files, deflater: deflater)
        try transport.open()
        #expect(try await transport.send(batch(0..<2_000)).list(2_000)[0].kind == .retry(after: nil))
        #expect(lake.paths.isEmpty)
        #expect(try await lake.transport(gzip: true).send(batch(0..<2_000)) == .all(.accepted))
    }

    @Test("a folder that vanishes isn't made once more, and neither is another one in its place used")
    func vanishedFolderHolds() async throws {
        let transport = try lake.transport()
        _ = try await transport.send(batch(0..<1))
        let aside = lake.directory.path + "/aside"
        try FileManager.default.moveItem(atPath: lake.path, toPath: aside)
        func reason() async throws -> String {
            let verdict = try await transport.send(batch(1..<2)).list(1)[0]
            #expect(verdict.kind == .hold)
            return verdict.reason
        }
        #expect(try await reason().contains("is gone"))
        #expect(!lake.directory.names.contains("lake"))
        try lake.directory.makeDirectory("lake")
        #expect(try await reason().contains("is gone"))
        lake.directory.remove("lake")
        try FileManager.default.moveItem(atPath: aside, toPath: lake.path)
        #expect(try await transport.send(batch(1..<2)) == .all(.accepted))
        #expect(try lake.numbers() == [0, 1])
    }

    @Test("what a killed process has left is removed, and a file that is being written stays")
    func abandonedFilesAreRemoved() async throws {
        for name in ["dead.tmp", "living.tmp"] { try lake.directory.write([1], to: "lake/.writing/\(name)") }
        let living = try OpenFile("\(lake.path)/.writing/living.tmp", .write, in: SystemFileSystem())
        #expect(living.tryLock())
        _ = try await lake.transport().send(batch(0..<1))
        #expect(lake.paths.filter { $0.hasPrefix(".writing") } == [".writing/living.tmp"])
        withExtendedLifetime(living) {}
    }

    @Test("a file that another process takes for an abandoned one is written once more")
    func takenFileIsWrittenOnceMore() async throws {
        let transport = try lake.transport()
        lake.files.beforeLock { [lake] in
            for path in lake.paths { lake.directory.remove("lake/\(path)") }
        }
        #expect(try await transport.send(batch(0..<3)) == .all(.accepted))
        #expect(try lake.numbers() == [0, 1, 2])
    }

    @Test("a file and its folders are synchronized before its events are accepted, the folders also for a known batch")
    func entriesAreSynchronized() async throws {
        _ = try await lake.transport(.hour).send(batch(0..<1))
        let first = lake.files.calls(.synchronizeDirectory)
        // The hour, the date, the lake, and its parent.
        #expect(first == 4)
        #expect(lake.files.calls(.synchronize) == first + 1)
        _ = try await lake.transport(.hour).send(batch(0..<1))
        #expect(lake.files.calls(.synchronizeDirectory) == first + 3)
    }
}
