import SluiceLifecycle
import SluiceTesting
import TestSupport
import Testing

/// `$AppInstall` and `$AppUpdate`.
@Suite("Lifecycle: installations and updates")
struct VersionTests {
    /// A disk, and the events that were stored, in their order: the moments at which a process can be killed.
    private final class Machine: Sendable {
        typealias Moment = (items: [String: [UInt8]], events: [Event])

        let place: MemoryPlace
        private let history: Locked<(events: [Event], moments: [Moment])>

        init(_ moment: Moment = ([:], [])) {
            place = MemoryPlace(moment.items)
            history = Locked((moment.events, []))
            place.beforeWriting { [weak self] in self?.note() }
        }

        /// Notes the moment before a change.
        private func note() {
            let items = place.items
            history.withLock { $0.moments.append((items, $0.events)) }
        }

        func stored(_ event: Event) {
            note()
            history.withLock { $0.events.append(event) }
        }

        var persistence: Persistence { place.persistenceWithoutRemoval }
        var events: [Event] { history.withLock(\.events) }
        var moments: [Moment] { history.withLock(\.moments) + [(place.items, events)] }
        var versions: [Event] { events.filter { $0.name == "$AppInstall" || $0.name == "$AppUpdate" } }
    }

    private let time = VirtualTime()

    /// A launch, which ends without a signal when its pipeline is released.
    private func launch(
        _ machine: Machine, _ version: String?, _ build: String? = nil, isExistingUser: Bool = false,
        signals: [Signal] = [.launched(.foreground), .didBecomeActive], crashes: Bool = false
    ) async throws {
        let test = try TestPipeline(time: time) {
            LifecycleEvents(
                persistedIn: machine.persistence, appVersion: version, appBuild: build, isExistingUser: isExistingUser)
            Transform { machine.stored($0) }
        }
        for signal in signals { test.pipeline.signal(signal) }
        // A pipeline that is released tracks no end, and waits for writes for a second only.
        if crashes { await writesAreDone(of: test.pipeline) } else { _ = await test.events() }
    }

    @Test("the first launch is an installation, a later one with another version an update, before the $AppStart")
    func installationAndUpdateAreTrackedOnce() async throws {
        let machine = Machine()
        for (version, build) in [("1.0", "1"), ("1.0", "1"), ("1.0", "2"), ("1.1", "2"), ("1.1", "2"), ("1.0", "1")] {
            try await launch(machine, version, build)
        }
        #expect(machine.events.first?.name == "$AppInstall")
        #expect(machine.versions.map(\.name) == ["$AppInstall", "$AppUpdate", "$AppUpdate", "$AppUpdate"])
        let expected: [Properties] = [
            ["$app_version": "1.0", "$app_build": "1"],
            ["$app_version": "1.0", "$app_build": "2", "$previous_version": "1.0", "$previous_build": "1"],
            ["$app_version": "1.1", "$app_build": "2", "$previous_version": "1.0", "$previous_build": "2"],
            // A downgrade.
            ["$app_version": "1.0", "$app_build": "1", "$previous_version": "1.1", "$previous_build": "2"],
        ]
        #expect(machine.versions.map(\.properties) == expected)
    }

    @Test(
        "a launch by the system is a launch, and any first signal will do",
        arguments: [
            Signal.launched(.passive), .connectivity(.available), .didBecomeActive, .willTerminate,
        ])
    func firstSignalCounts(signal: Signal) async throws {
        let machine = Machine()
        try await launch(machine, "1.0", signals: [signal, signal])
        #expect(machine.events.first?.name == "$AppInstall")
        #expect(machine.versions.count == 1)
    }

    @Test(
        "without a version there is no installation; a version that is missing or known for the first time is no update"
    )
    func missingVersionIsNoUpdate() async throws {
        let machine = Machine()
        for (version, build) in [(nil, nil), (nil, " "), ("1.0", nil), (nil, nil), ("1.0", "7"), (nil, "7")] {
            try await launch(machine, version, build)
        }
        #expect(machine.versions.isEmpty)
        try await launch(machine, "2.0", nil)
        let event = try #require(machine.versions.first)
        #expect(event.properties == ["$app_version": "2.0", "$previous_version": "1.0", "$previous_build": "7"])
    }

    @Test("the recovered end of a crashed launch comes before the update")
    func recoveredEndPrecedesUpdate() async throws {
        let machine = Machine()
        try await launch(machine, "1.0", crashes: true)
        try await launch(machine, "1.1", crashes: true)
        let events = machine.events
        #expect(events.map(\.name) == ["$AppInstall", "$AppStart", "$AppEnd", "$AppUpdate", "$AppStart"])
        #expect(events[2].properties["$recovered"] == true)
    }

    @Test("a user of the time before this processor is not a new one, and gets updates")
    func existingUserIsNoInstallation() async throws {
        let machine = Machine()
        try await launch(machine, "1.0", isExistingUser: true)
        #expect(machine.versions.isEmpty)
        #expect(machine.events.first?.properties["$is_first_time"] == false)
        try await launch(machine, "1.1", isExistingUser: true)
        #expect(machine.versions.map(\.name) == ["$AppUpdate"])
    }

    @Test("facts without a version, as earlier releases wrote them, are those of an existing user")
    func formerFactsAreKnown() async throws {
        let machine = Machine()
        let facts = #"{"has_started":true,"first_day":20454}"#
        let checksum = String(FNV1a(facts.utf8).value, radix: 16)
        machine.place.items["lifecycle"] = Array(#"{"lifecycle":\#(facts),"checksum":"\#(checksum)"}"#.utf8)
        try await launch(machine, "1.0")
        #expect(machine.place.items["lifecycle.corrupt"] == nil)
        #expect(machine.versions.isEmpty)
        try await launch(machine, "1.1")
        #expect(machine.versions.map(\.name) == ["$AppUpdate"])
    }

    @Test("after damage nothing is called an installation or an update, and the next update is found")
    func damagedStateIsNoInstallation() async throws {
        let machine = Machine()
        try await launch(machine, "1.0")
        machine.place.items["lifecycle"]?.removeLast(3)
        try await launch(machine, "1.1")
        #expect(machine.versions.map(\.name) == ["$AppInstall"])
        try await launch(machine, "1.2")
        #expect(machine.versions.last?.properties["$previous_version"] == "1.1")
    }

    @Test("whenever the process is killed, the next launches track the event with one id, and it is not lost")
    func killedLaunchRepeatsWithSameID() async throws {
        let before = Machine()
        try await launch(before, "1.0")
        for (items, version, name) in [
            ([:], "1.0", "$AppInstall"), (before.place.items, "1.1", "$AppUpdate"),
        ] {
            let whole = Machine((items, []))
            try await launch(whole, version)
            #expect(whole.moments.count >= 4)
            for moment in whole.moments {
                let next = Machine(moment)
                time.advance(by: .seconds(60))
                try await launch(next, version)
                try await launch(next, version)
                let events = next.versions
                #expect(Set(events.map(\.id)).count == 1)
                #expect(events.allSatisfy { $0.name == name && $0.time == events[0].time })
                #expect(events.allSatisfy { $0.properties == events[0].properties })
                #expect(events.count <= 2)
            }
        }
    }

    @Test("an installation whose launch was killed is tracked before the update that came meanwhile")
    func killedInstallationPrecedesUpdate() async throws {
        let whole = Machine()
        try await launch(whole, "1.0")
        // The facts are on disk, and the event is not stored yet.
        let killed = try #require(whole.moments.last { $0.events.isEmpty })
        let next = Machine(killed)
        try await launch(next, "1.1")
        #expect(next.versions.map(\.name) == ["$AppInstall", "$AppUpdate"])
        #expect(next.versions.map { $0.properties["$app_version"] } == ["1.0", "1.1"])
    }

    @Test("while the state can't be written, no event is tracked; then it is, once")
    func unwritableStateTracksNothing() async throws {
        let machine = Machine()
        machine.place.fail(at: .write)
        try await launch(machine, "1.0")
        #expect(machine.versions.isEmpty)
        #expect(machine.events.map(\.name) == ["$AppStart", "$AppEnd"])
        machine.place.fail()
        try await launch(machine, "1.0")
        try await launch(machine, "1.0")
        #expect(machine.versions.map(\.name) == ["$AppInstall"])
    }

    @Test("a disk that is full at the launch only delays the event to the next signal")
    func eventFollowsRepairedDisk() async throws {
        let machine = Machine()
        let lifecycle = LifecycleEvents(persistedIn: machine.persistence, appVersion: "1.0")
        let test = try TestPipeline(time: time) {
            lifecycle
            Transform { machine.stored($0) }
        }
        machine.place.fail(at: .write)
        test.pipeline.signal(.launched(.foreground))
        #expect(machine.versions.isEmpty)
        #expect(test.diagnostics.count == 1)
        machine.place.fail()
        test.pipeline.signal(.didBecomeActive)
        test.pipeline.signal(.didEnterBackground)
        #expect(machine.versions.count == 1)
        _ = await test.events()
    }

    @Test(
        "a version that is no version throws",
        arguments: [
            ("1", String(repeating: "1", count: 256)), (String(repeating: "1", count: 256), nil), ("2.0\n", nil),
            ("2.0", " 17"), ("2\u{1}.0", "17"), ("\u{FEFF}2.0", nil), ("2.0", "17\r\n"),
        ])
    func wrongVersionThrows(version: String, build: String?) {
        #expect(throws: SluiceError.self) {
            try TestPipeline { LifecycleEvents(appVersion: version, appBuild: build) }
        }
    }
}
