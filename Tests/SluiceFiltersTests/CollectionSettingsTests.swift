import SluiceFilters
import TestSupport
import Testing

@Suite struct CollectionSettingsTests {
    @Test("events are dropped and counted while collection is disabled, in the next launch too")
    func disabledCollectionDropsEvents() async throws {
        let directory = TemporaryDirectory()
        let first = CollectionSettings(persistedIn: .file(directory.path))
        let test = try TestPipeline { first }
        test.pipeline.track("before")
        try first.setEnabled(false)
        test.pipeline.track("off")
        #expect(await test.events().map(\.name) == ["before"])
        #expect(test.pipeline.ledger.dropped == [.collectionDisabled: 1])

        let second = CollectionSettings(persistedIn: .file(directory.path))
        #expect(!second.isEnabled)
        let next = try TestPipeline { second }
        next.pipeline.track("still off")
        try second.setEnabled(true)
        next.pipeline.track("on")
        #expect(await next.events().map(\.name) == ["on"])
        #expect(CollectionSettings(persistedIn: .file(directory.path)).isEnabled)
    }

    @Test("damaged settings collect nothing until they are set again")
    func damagedSettingsCollectNothing() async throws {
        let directory = TemporaryDirectory()
        try directory.write(Array(#"{"collection":{"enabled":true},"checksum":"0"}"#.utf8), to: "collection.json")
        for _ in 1...2 {
            let settings = CollectionSettings(persistedIn: .file(directory.path))
            let test = try TestPipeline { settings }
            test.pipeline.track("Event")
            #expect(!settings.isEnabled)
            #expect(test.diagnostics.map(\.kind) == [.plugin])
            #expect(await test.events().isEmpty)
        }
        try CollectionSettings(persistedIn: .file(directory.path)).setEnabled(true)
        #expect(CollectionSettings(persistedIn: .file(directory.path)).isEnabled)
    }

    @Test("a setting that can't be kept lasts until the process ends")
    func unkeptSettingLastsUntilExit() throws {
        let directory = TemporaryDirectory()
        let settings = CollectionSettings(persistedIn: .file(directory.path))
        _ = try TestPipeline { settings }
        try directory.block()
        #expect(throws: SluiceError.self) { try settings.setEnabled(false) }
        #expect(settings.processed() == nil)
    }
}
