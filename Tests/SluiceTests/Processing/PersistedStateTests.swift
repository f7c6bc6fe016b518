import Dispatch
import Sluice
import SluiceSystem
import SluiceTesting
import TestSupport
import Testing

/// State that plugins keep.
@Suite struct PersistedStateTests {
    struct Count: PersistedValue {
        var number = 0

        init(_ number: Int = 0) { self.number = number }

        init?(_ object: Properties) {
            guard case .int(let number)? = object["number"] else { return nil }
            self.number = Int(number)
        }

        var object: Properties { ["number": .int(number)] }

        mutating func merge(stored: Count) { number += stored.number }
    }

    /// The same item as ``Count``, in a later program that counts in tens.
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

    /// A host's place, which fails and waits as a test says.
    final class Place: Sendable {
        struct State {
            var items: [String: [UInt8]] = [:]
            var writes = 0
            var isUnreadable = false
            var isUnwritable = false
            var onWrite: @Sendable () -> Void = {}
        }

        let state = Locked(State())

        var persistence: Persistence {
            Persistence(
                named: "a place",
                read: { [state] item in
                    try state.withLock { state in
                        if state.isUnreadable { throw SluiceError(.storageUnavailable, "locked") }
                        return state.items[item]
                    }
                },
                write: { [state] item, bytes in
                    state.withLock(\.onWrite)()
                    try state.withLock { state in
                        state.writes += 1
                        if state.isUnwritable { throw SluiceError(.storageUnavailable, "full") }
                        state.items[item] = bytes
                    }
                })
        }

        var stored: String? { state.withLock { $0.items["count"].map { String(decoding: $0, as: UTF8.self) } } }
    }

    private let place = Place()
    private let reports = Locked<[String]>([])

    private func launch(_ persistence: Persistence? = nil) -> PersistedState<Count> {
        PersistedState(
            "count", in: persistence ?? place.persistence, initial: Count(), ifDamaged: Count(-1),
            report: { [reports] message in reports.withLock { $0.append(message) } })
    }

    private var said: [String] { reports.withLock(\.self) }

    @Test(
        "a state whose name can't be that of a file is refused, and its value is in memory",
        arguments: ["", ".", "..", "a/b", "../a", ".a", "a b", "ä", "a\n", "a\0b", "/a", "a:b"])
    func nameIsValidated(item: String) throws {
        let directory = try TemporaryDirectory()
        let state = PersistedState(item, in: .file(directory.path), initial: Count(), report: { _ in })
        let error = #expect(throws: SluiceError.self) { try state.load() }
        #expect(error?.code == .invalidArgument)
        state.update { $0.number = 2 }
        #expect(state.value.number == 2)
        #expect(directory.names.isEmpty)
    }

    @Test("changes are in memory immediately, and stored when finish() returns")
    func changesAreStored() async throws {
        let state = launch()
        try state.load()
        for _ in 0..<100 { state.update { $0.number += 1 } }
        #expect(state.value.number == 100)
        await state.finish()
        #expect(launch().value.number == 100)
        #expect(said.isEmpty)
    }

    @Test("changes during a write are written together, and the last value wins")
    func changesAreCoalesced() async throws {
        let (hasBegun, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        place.state.withLock {
            $0.onWrite = {
                hasBegun.signal()
                mayEnd.wait()
            }
        }
        let state = launch()
        state.update { $0.number = 1 }
        await Task.onOwnThread { hasBegun.wait() }.value
        for number in 2...50 { state.update { $0.number = number } }
        place.state.withLock { $0.onWrite = {} }
        mayEnd.signal()
        await state.finish()
        #expect(launch().value.number == 50)
        #expect(place.state.withLock(\.writes) == 2)
    }

    @Test("a write that has begun goes on when the state is released")
    func releasedStateIsWritten() async throws {
        let isWritten = DispatchSemaphore(value: 0)
        place.state.withLock { $0.onWrite = { isWritten.signal() } }
        var state: PersistedState? = launch()
        state?.update { $0.number = 7 }
        state = nil
        await Task.onOwnThread { isWritten.wait() }.value
        while place.stored == nil { await Task.yield() }
        place.state.withLock { $0.onWrite = {} }
        #expect(launch().value.number == 7)
    }

    @Test("after finish() a change is stored when update returns, until the state is loaded for the next pipeline")
    func changeAfterFinishIsStored() async throws {
        let state = launch()
        await state.finish()
        state.update { $0.number = 3 }
        #expect(place.stored?.contains(#""number":3"#) == true)
        try state.load()
        place.state.withLock { $0.isUnwritable = true }
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
        #expect(place.state.withLock(\.writes) == 1)
        #expect(launch().value.number == 1)
        place.state.withLock { $0.isUnwritable = true }
        #expect(throws: SluiceError.self) { try state.save { $0.number = 2 } }
        #expect(state.value.number == 2, "it counts in memory")
        for _ in 0..<2 { #expect(!state.saveOrReport { $0.number = 2 }) }
        #expect(said.count == 1, "of failures in a row, the first one")
    }

    @Test("a write that has failed is tried once more by finish()")
    func finishTriesOnceMore() async throws {
        let state = launch()
        place.state.withLock { $0.isUnwritable = true }
        state.update { $0.number = 9 }
        await state.finish()
        #expect(place.stored == nil)
        place.state.withLock { $0.isUnwritable = false }
        await state.finish()
        #expect(launch().value.number == 9)
    }

    @Test("damaged state is kept aside and reported, and replaced", arguments: [" ", "{", #"{"count":{"number":1}}"#])
    func damagedStateIsKeptAside(text: String) async throws {
        place.state.withLock { $0.items["count"] = Array(text.utf8) }
        let state = launch()
        try state.load()
        #expect(state.value.number == -1)
        #expect(said.count == 1 && said[0].hasPrefix("count in a place is damaged. It was kept aside as .corrupt"))
        #expect(place.state.withLock { $0.items["count.corrupt"] } == Array(text.utf8))
        try state.save { $0.number = 2 }
        #expect(launch().value.number == 2)
    }

    @Test("state that can't be read is not overwritten, and is merged with later changes")
    func unreadableStateIsMerged() async throws {
        try launch().save { $0.number = 40 }
        place.state.withLock { $0.isUnreadable = true }
        let state = launch()
        #expect(throws: SluiceError.self) { try state.load() }
        #expect(state.value.number == 0)
        state.update { $0.number += 2 }
        await state.finish()
        #expect(throws: SluiceError.self) { try state.save { _ in } }
        #expect(place.stored?.contains("40") == true)
        place.state.withLock { $0.isUnreadable = false }
        try state.load()
        #expect(state.value.number == 42)
        await state.finish()
        #expect(launch().value.number == 42)
    }

    @Test("another version is upgraded, or throws and stays as it is")
    func otherVersions() async throws {
        func tens() -> PersistedState<Tens> {
            PersistedState("count", in: place.persistence, initial: Tens(), report: { _ in })
        }
        try launch().save { $0.number = 70 }
        #expect(tens().value.tens == 7)
        try tens().save { $0.tens += 1 }
        let stored = place.stored
        #expect(stored?.contains(#""version":2"#) == true)
        let state = launch()
        let error = #expect(throws: SluiceError.self) { try state.load() }
        #expect(error?.code == .otherVersion)
        #expect(error?.message.contains("has version 2, and this program knows version 1") == true)
        state.update { $0.number = 1 }
        await state.finish()
        #expect(place.stored == stored)
        #expect(place.state.withLock { $0.items.keys.sorted() } == ["count"])
    }

    @Test("a backup is read if the first place is empty or damaged, but not if that can't be read")
    func backupIsRead() throws {
        let backup = Place()
        let both = place.persistence.backedUp(by: backup.persistence)
        try launch(both).save { $0.number = 5 }
        #expect(backup.stored != nil && backup.stored == place.stored)
        for bytes in [nil, Array("{".utf8)] {
            place.state.withLock { $0.items["count"] = bytes }
            #expect(launch(both).value.number == 5)
            #expect(place.stored == backup.stored, "the first place is repaired")
        }
        place.state.withLock { $0.isUnreadable = true }
        #expect(throws: SluiceError.self) { try launch(both).load() }
        place.state.withLock { $0.isUnreadable = false }
        backup.state.withLock { $0.isUnreadable = true }
        #expect(launch(both).value.number == 5)
    }

    @Test("a place's closure that changes its own plugin gets an error, and nothing hangs")
    func closureMayUseItsOwnState() async throws {
        let state = launch()
        try state.load()
        let codes = Locked<[SluiceError.Code?]>([])
        place.state.withLock {
            $0.onWrite = {
                do throws(SluiceError) {
                    try state.save { $0.number = 5 }
                    codes.withLock { $0.append(nil) }
                } catch {
                    codes.withLock { $0.append(error.code) }
                }
            }
        }
        try state.save { $0.number = 4 }
        #expect(codes.withLock(\.self) == [.invalidArgument])
        #expect(state.value.number == 5)
        place.state.withLock { $0.onWrite = {} }
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
