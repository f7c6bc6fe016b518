import Dispatch
import Sluice
import SluiceSystem
import SluiceTesting
import TestSupport
import Testing

/// State that plugins keep.
@Suite struct PersistedStateTests {
    /// The same item as ``StoredCount``, in a later program that counts in tens.
    struct Tens: PersistedValue {
        static let version = 2
        var tens: Int

        init(_ tens: Int = 0) { self.tens = tens }

        init?(_ object: Properties) {
            guard case .int(let tens)? = object["tens"] else { return nil }
            self.tens = Int(tens)
        }

        var object: Properties { ["tens": .int(tens)] }

        static func upgrade(_ object: Properties, from version: Int) -> Properties? {
            guard version == 1, case .int(let number)? = object["number"] else { return nil }
            return ["tens": .int(number / 10)]
        }
    }

    private let place = MemoryPlace()
    private let reports = Locked<[String]>([])

    private func launch(_ persistence: Persistence? = nil) -> PersistedState<StoredCount> {
        PersistedState(
            "count", in: persistence ?? place.persistenceWithoutRemoval, initial: StoredCount(),
            ifDamaged: StoredCount(-1),
            report: { [reports] message in reports.withLock { $0.append(message) } })
    }

    private var said: [String] { reports.withLock(\.self) }

    private func text(in place: MemoryPlace) -> String? {
        place.items["count"].map { String(decoding: $0, as: UTF8.self) }
    }

    private var stored: String? { text(in: place) }

    @Test(
        "a state whose name can't be that of a file is refused, and its value is in memory",
        arguments: ["", ".", "..", "a/b", "../a", ".a", "a b", "ä", "a\n", "a\0b", "/a", "a:b"])
    func nameIsValidated(item: String) throws {
        let directory = TemporaryDirectory()
        let state = PersistedState(item, in: .file(directory.path), initial: StoredCount(), report: { _ in })
        let error = #expect(throws: SluiceError.self) { try state.load() }
        #expect(error?.code == .invalidArgument)
        state.update { $0.number = 2 }
        #expect(state.value.number == 2)
        #expect(directory.names.isEmpty)
    }

    @Test("changes during a write are written together, and the last value wins")
    func changesAreCoalesced() async throws {
        let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        place.beforeWriting {
            hasBegun.signal()
            mayEnd.wait()
        }
        let state = launch()
        state.update { $0.number = 1 }
        await Task.onOwnThread { hasBegun.wait() }.value
        for number in 2...50 { state.update { $0.number = number } }
        place.beforeWriting {}
        mayEnd.signal()
        await state.finish()
        #expect(launch().value.number == 50)
        #expect(place.writes == 2)
    }

    @Test("a write that has begun goes on when the state is released")
    func releasedStateIsWritten() async throws {
        let isWritten = DispatchSemaphore(value: 0)
        place.beforeWriting { isWritten.signal() }
        var state: PersistedState? = launch()
        state?.update { $0.number = 7 }
        state = nil
        await Task.onOwnThread { isWritten.wait() }.value
        while stored == nil { await Task.yield() }
        place.beforeWriting {}
        #expect(launch().value.number == 7)
    }

    @Test("after finish() a change is stored when update returns, until the state is loaded for the next pipeline")
    func changeAfterFinishIsStored() async throws {
        let state = launch()
        await state.finish()
        state.update { $0.number = 3 }
        #expect(stored?.contains(#""number":3"#) == true)
        try state.load()
        place.fail(at: .write)
        state.update { $0.number = 4 }
        await state.finish()
        #expect(said.count == 1)
        #expect(said[0].contains("can't be kept for the next launch"))
    }

    @Test("save returns when the change is stored; an unchanged value isn't written")
    func saveIsSynchronous() throws {
        let state = launch()
        try state.save { $0.number = 1 }
        try state.save { $0.number = 1 }
        #expect(place.writes == 1)
        #expect(launch().value.number == 1)
        place.fail(at: .write)
        #expect(throws: SluiceError.self) { try state.save { $0.number = 2 } }
        #expect(state.value.number == 2, "it counts in memory")
        for _ in 0..<2 { #expect(!state.saveOrReport { $0.number = 2 }) }
        #expect(said.count == 1, "of failures in a row, the first one")
    }

    @Test("finish() returns with the last change in its place, although another write has begun meanwhile")
    func finishWaitsForLastChange() async {
        let state = launch()
        let isFirst = Locked(true)
        place.beforeWriting { [reports] in
            guard isFirst.withLock({ exchange(&$0, with: false) }) else { return }
            // From finish() on, each change is written by its caller: here in vain, because this thread writes already.
            while reports.withLock(\.isEmpty) { state.update { $0.number += 1 } }
        }
        state.update { $0.number = 1 }
        await state.finish()
        #expect(state.value.number > 1 && launch().value.number == state.value.number)
    }

    @Test("a write that has failed is tried once more by finish()")
    func finishTriesOnceMore() async throws {
        let state = launch()
        place.fail(at: .write)
        state.update { $0.number = 9 }
        await state.finish()
        #expect(stored == nil)
        place.fail()
        await state.finish()
        #expect(launch().value.number == 9)
    }

    @Test("damaged state is kept aside and reported, and replaced", arguments: [" ", "{", #"{"count":{"number":1}}"#])
    func damagedStateIsKeptAside(text: String) async throws {
        place.items["count"] = Array(text.utf8)
        let state = launch()
        try state.load()
        #expect(state.value.number == -1)
        #expect(said.count == 1 && said[0].hasPrefix("count in \(place.name) is damaged. It was kept aside as"))
        #expect(place.items["count.corrupt"] == Array(text.utf8))
        try state.save { $0.number = 2 }
        #expect(launch().value.number == 2)
    }

    @Test("state that can't be read is not overwritten, and is merged with later changes")
    func unreadableStateIsMerged() async throws {
        try launch().save { $0.number = 40 }
        place.fail(at: .read)
        let state = launch()
        #expect(throws: SluiceError.self) { try state.load() }
        #expect(state.value.number == 0)
        state.update { $0.number += 2 }
        await state.finish()
        #expect(throws: SluiceError.self) { try state.save { _ in } }
        #expect(stored?.contains("40") == true)
        place.fail()
        try state.load()
        #expect(state.value.number == 42)
        await state.finish()
        #expect(launch().value.number == 42)
    }

    @Test("another version is upgraded, or throws and stays as it is")
    func otherVersions() async throws {
        func tens() -> PersistedState<Tens> {
            PersistedState("count", in: place.persistenceWithoutRemoval, initial: Tens(), report: { _ in })
        }
        try launch().save { $0.number = 70 }
        #expect(tens().value.tens == 7)
        try tens().save { $0.tens += 1 }
        let before = stored
        #expect(before?.contains(#""version":2"#) == true)
        let state = launch()
        let error = #expect(throws: SluiceError.self) { try state.load() }
        #expect(error?.code == .otherVersion)
        #expect(error?.message.contains("has version 2, and this program knows version 1") == true)
        state.update { $0.number = 1 }
        await state.finish()
        #expect(stored == before)
        #expect(place.items.keys.sorted() == ["count"])
    }

    @Test("a backup is read if the first place is empty or damaged, but not if that can't be read")
    func backupIsRead() throws {
        let backup = MemoryPlace()
        let both = place.persistenceWithoutRemoval.backedUp(by: backup.persistenceWithoutRemoval)
        try launch(both).save { $0.number = 5 }
        #expect(stored != nil && text(in: backup) == stored)
        for bytes in [nil, Array("{".utf8)] {
            place.items["count"] = bytes
            #expect(launch(both).value.number == 5)
            #expect(stored == text(in: backup), "the first place is repaired")
        }
        place.fail(at: .read)
        #expect(throws: SluiceError.self) { try launch(both).load() }
        place.fail()
        backup.fail(at: .read)
        #expect(launch(both).value.number == 5)
    }

    @Test("a place's closure that changes its own plugin gets an error, and nothing hangs")
    func closureMayUseItsOwnState() async throws {
        let state = launch()
        try state.load()
        let codes = Locked<[SluiceError.Code?]>([])
        place.beforeWriting {
            do throws(SluiceError) {
                try state.save { $0.number = 5 }
                codes.withLock { $0.append(nil) }
            } catch {
                codes.withLock { $0.append(error.code) }
            }
        }
        try state.save { $0.number = 4 }
        #expect(codes.withLock(\.self) == [.invalidArgument])
        #expect(state.value.number == 5)
        place.beforeWriting {}
        await state.finish()
        #expect(launch().value.number == 5)
    }

    @Test("changes of many threads are all counted and stored")
    func threadsAreCounted() async throws {
        let state = launch()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for index in 0..<50 {
                        if index % 10 == 0 {
                            state.saveOrReport { $0.number += 1 }
                        } else {
                            state.update { $0.number += 1 }
                        }
                    }
                }
            }
        }
        await state.finish()
        #expect(launch().value.number == 400)
        #expect(said.isEmpty)
    }
}
