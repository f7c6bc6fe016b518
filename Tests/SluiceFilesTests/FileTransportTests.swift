import Foundation
import Sluice
import SluiceJSONL
import SluiceTesting
import TestSupport
import Testing

@testable import SluiceFiles

@Suite("FileTransport")
struct FileTransportTests {
    let lake = LakeTest()

    @Test("keeps the contract of transports", arguments: [true, false])
    func keepsContract(gzip: Bool) async throws {
        try await TransportContract.check { FileTransport(at: lake.path, gzip: gzip) }
        #expect(lake.paths == lake.visible && lake.visible.count == 2)
    }

    @Test("a batch is one file for each date, named after its first event, a hash and the number of events")
    func batchIsFileForEachDate() async throws {
        let batch = try batch(0..<5) { noon + Int64($0 / 3) * day }
        #expect(try await lake.transport().send(batch) == .all(.accepted))
        let ids = batch.events.compactMap { $0.id?.description }
        #expect(lake.paths.count == 2)
        #expect(lake.paths[0].hasPrefix("date=2026-01-01/\(ids[0])-") && lake.paths[0].hasSuffix("-3.ndjson"))
        #expect(lake.paths[1].hasPrefix("date=2026-01-02/\(ids[3])-") && lake.paths[1].hasSuffix("-2.ndjson"))
        #expect(try lake.numbers() == [0, 1, 2, 3, 4])
        let stored = batch.events.map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(try lake.paths.flatMap(lake.lines) == stored)
    }

    @Test("dates end with a plain Z in each piece of a file, so grep and databases find them", arguments: [1, 1_000])
    func datesArePlain(count: Int) async throws {
        let events = try (1...count).map { number in
            try line(number, ["at": .date(Timestamp(milliseconds: noon)), "text": #"\u005a""#])
        }
        _ = try await lake.transport().send(Batch(id: 1, events: events))
        let lines = try lake.lines(of: try #require(lake.paths.first))
        #expect(lines.count == count)
        #expect(lines.allSatisfy { $0.contains(#""at":"2026-01-01T12:00:00.000Z""#) })
        #expect(lines.allSatisfy { $0.contains(#""text":"\\u005a\"""#) })
    }

    @Test("a compressed file has one member, which gzip reads")
    func compressedFileIsRead() async throws {
        let batch = try batch(0..<1_000)
        _ = try await lake.transport(gzip: true).send(batch)
        let name = try #require(lake.visible.first)
        #expect(name.hasSuffix("-1000.ndjson.gz"))
        let result = try await Program.run(tool: "gzip", ["-dc", "\(lake.path)/\(name)"])
        #expect(result.status == 0 && result.errors.isEmpty)
        #expect(result.lines.map { Array($0) } == batch.events.map { Array($0.bytes) })
        #expect(try lake.directory.read("lake/\(name)").count < result.output.count / 5)
    }

    @Test("a batch that comes once more is a duplicate, and is in one file", arguments: [true, false])
    func repeatedBatchIsDuplicate(isCompressedLater: Bool) async throws {
        let batch = try batch(0..<4) { noon + Int64($0 / 2) * day }
        #expect(try await lake.transport().send(batch) == .all(.accepted))
        let before = lake.paths
        #expect(try await lake.transport(gzip: isCompressedLater).send(batch) == .all(.duplicate))
        #expect(lake.paths == before)
    }

    @Test("after a crash, only the events are written that no file has, in each of two steps")
    func longerBatchIsCompleted() async throws {
        _ = try await lake.transport().send(batch(0..<3))
        let longer = try await lake.transport().send(batch(0..<5))
        #expect(longer == .each([.duplicate, .duplicate, .duplicate, .accepted, .accepted]))
        let longest = try await lake.transport().send(batch(0..<7))
        #expect(longest.list(7).map { $0 == .duplicate } == [true, true, true, true, true, false, false])
        #expect(try lake.numbers() == Array(0..<7))
        #expect(lake.paths.count == 3)
    }

    @Test("other events with the same first one are written")
    func otherEventsAreWritten() async throws {
        _ = try await lake.transport().send(batch(0..<3))
        let other = Batch(id: 1, events: [try line(0), try line(2), try line(1)])
        #expect(try await lake.transport().send(other) == .all(.accepted))
        #expect(lake.paths.count == 2)
        // A shorter batch can't be compared with the file, so its events are in both.
        #expect(try await lake.transport().send(batch(0..<2)) == .all(.accepted))
        #expect(try lake.numbers().sorted() == [0, 0, 0, 1, 1, 1, 2, 2])
    }

    @Test("the time of an event decides on its folder, also before 1970 and beyond all dates of readers")
    func timeDecides() async throws {
        let times: [(Int64, String)] = [
            (-1, "1969-12-31"), (0, "1970-01-01"), (.min, "0001-01-01"), (.max, "9999-12-31"),
            (-62_135_596_800_001, "0001-01-01"), (noon, "2026-01-01"), (noon + 12 * hour - 1, "2026-01-01"),
            (noon + 12 * hour, "2026-01-02"),
        ]
        let transport = try lake.transport()
        for (number, time) in times.enumerated() {
            _ = try await transport.send(Batch(id: 1, events: [try line(number, at: time.0)]))
            let names = try lake.visible.filter { try lake.lines(of: $0)[0].contains("\"number\":\(number)}") }
            #expect(names.map { String($0.prefix(15)) } == ["date=\(time.1)"])
        }
    }

    @Test("hours are folders below dates, in the time of a zone", arguments: [-5, 0, 10])
    func hoursAreFolders(offset: Int64) async throws {
        let transport = try lake.transport(.hour, utcOffset: { _ in .seconds(offset * 3_600) })
        _ = try await transport.send(batch(0..<3) { noon + Int64($0) * 30 * 60_000 })
        let text = { String(Timestamp(milliseconds: noon + (offset + $0) * hour).description.prefix(13)) }
        let folders = [0, 1].map { "date=" + text($0).replacing("T", with: "/hour=") }
        #expect(lake.visible.map { $0.split(separator: "/").dropLast().joined(separator: "/") } == folders)
    }

    @Test("an event without a readable time becomes a dead letter, and the others are written")
    func unreadableEventIsUnsendable() async throws {
        let broken = EventLine(bytes: Array(#"{"id":"x"}"#.utf8)[...], priority: .normal)
        let verdicts = try await lake.transport().send(Batch(id: 1, events: [try line(0), broken, try line(1)]))
        #expect(verdicts.list(3).map(\.kind) == [.accepted, .unsendable, .accepted])
        #expect(try lake.numbers() == [0, 1])
    }

    @Test(
        "small files that follow each other soon are noted once, as with the standard policy",
        arguments: [(15, 10, 1), (61, 10, 0), (15, 1_000, 0)] as [(Int, Int, Int)])
    func smallFilesAreNoted(seconds: Int, count: Int, notes: Int) async throws {
        let transport = try lake.transport()
        for number in 0..<(notes == 1 ? 45 : 25) {
            _ = try await transport.send(batch(number * count..<(number + 1) * count))
            lake.time.advance(by: .seconds(seconds))
            if number < 20 { #expect(lake.notes.isEmpty) }
        }
        #expect(lake.notes.count == notes)
        #expect(lake.notes.allSatisfy { $0.contains("Pass `delivery: .files`") })
    }

    @Test("wrong arguments are errors when the pipeline is built")
    func wrongArgumentsThrow() throws {
        func code(_ transport: FileTransport) throws -> SluiceError.Code? {
            do throws(SluiceError) { try transport.open() } catch { return error.code }
            return nil
        }
        for (path, _) in flawedPaths { #expect(try code(FileTransport(at: path)) == .invalidArgument, "\(path)") }
        for age in [Duration.zero, .seconds(86_399), .seconds(-1), .seconds(Int64.max)] {
            #expect(try code(FileTransport(at: lake.path, maximumAge: age)) == .invalidArgument)
        }
        let calendar = EventCalendar(.day) { _ in .zero }
        let without = FileTransport(at: lake.path, gzip: true, calendar, nil, files: lake.files, deflater: nil)
        #expect(try code(without) == .missingLibrary)
        #expect(try code(FileTransport(at: lake.path)) == nil)
        #expect(lake.directory.names.isEmpty)
    }

    @Test("only this user can enter a new folder, and the umask decides on what is in it")
    func folderIsPrivate() async throws {
        _ = try await lake.transport().send(batch(0..<1))
        func mode(_ name: String) throws -> UInt32 { try SystemFileSystem().status(of: lake.path + name).mode }
        let mask = umask(0)
        umask(mask)
        #expect(try mode("") == 0o700)
        #expect(try mode("/date=2026-01-01") == 0o777 & ~UInt32(mask))
        #expect(try mode("/" + lake.visible[0]) == 0o666 & ~UInt32(mask))
    }

    @Test("a store on disk delivers as many events in a file as the policy for files says")
    func policyMakesLargeFiles() async throws {
        let queue = lake.directory.path + "/queue"
        let pipeline = try Pipeline(delivery: .files, environment: PipelineEnvironment(time: lake.time)) {
            JSONLStore(at: queue, capacity: 64 << 20)
            FileTransport(at: lake.path, gzip: false)
        }
        for number in 0..<20_500 { pipeline.track("Sample", ["number": .int(number)]) }
        await pipeline.flush()
        #expect(lake.visible.compactMap { EventFile(name: String($0.split(separator: "/")[1]))?.count }.max() == 20_000)
        #expect(try lake.numbers().sorted() == Array(0..<20_500))
        #expect(await pipeline.shutdown().isBalanced)
    }
}
