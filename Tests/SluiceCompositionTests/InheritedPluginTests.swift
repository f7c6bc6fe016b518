import Foundation
import Sluice
import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceIdentity
import SluiceLifecycle
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

#if compiler(>=6.2) && (os(macOS) || os(Linux))
    @Suite(.disabled(if: ForkedChild.isUnsafe, "the sanitizer's own locks may be held in the child"))
    struct InheritedPluginTests {
        /// Plugins whose locks are taken for each event, and by verbs.
        struct Plugins {
            let auto = AutoProperties()
            let identity = Identity(persistedIn: .memory)
            let timers = DurationTimer()
            let screens = Screens()
            let links = Links()
            let sessions = Sessions()
            let consent = Consent(persistedIn: .memory, whilePending: .keep)
            let settings = CollectionSettings(persistedIn: .memory)
            let token: DurationToken

            init() { token = timers.start("Token") }

            func pipeline() throws -> Pipeline {
                try Pipeline {
                    auto
                    identity
                    timers
                    screens
                    links
                    sessions
                    consent
                    settings
                    MemoryStore(capacity: 100_000)
                    NullTransport()
                }
            }

            func useWithoutEnd(_ pipeline: Pipeline) {
                while true {
                    pipeline.track("Event")
                    timers.end(timers.start("Timer"))
                    screens.leave(screens.enter("Screen"))
                    links.opened("https://example.com?utm_source=a")
                    auto.register(["a": 1])
                    sessions.start()
                }
            }

            /// Calls the verbs.
            ///
            /// - Returns: the number of errors.
            func useVerbs() -> Int {
                timers.end(timers.start("Timer"))
                timers.pause("Timer")
                timers.resume(token)
                timers.clear()
                screens.leave(screens.show("Screen"))
                links.opened("https://example.com?utm_source=b")
                links.reset()
                auto.register(["b": 2])
                auto.registerDynamic("c") { 3 }
                auto.unregisterAll()
                sessions.start()
                sessions.end()
                identity.profile.set(["d": 4])
                _ = (auto.registered, links.campaigns, sessions.id, identity.distinctID, consent.status, consent.held)
                var errors = 0
                for verb in [
                    { try identity.login("a") }, { try identity.logout() }, { _ = try identity.erase() },
                    { try consent.grant() }, { try consent.deny() }, { try settings.setEnabled(true) },
                ] as [() throws -> Void] {
                    do {
                        try verb()
                    } catch {
                        errors += 1
                    }
                }
                return settings.isEnabled ? 0 : errors
            }
        }

        @Test("no verb of a plugin hangs in the child of a fork while other threads of the parent use the plugins")
        func verbsDoNotHang() async {
            await #expect(processExitsWith: .success) {
                let plugins = Plugins()
                let pipeline = try plugins.pipeline()
                pipeline.pauseDelivery()
                #expect(plugins.useVerbs() == 0)
                for _ in 0..<4 { Thread.detachNewThread { plugins.useWithoutEnd(pipeline) } }
                for number in 0..<50 {
                    let isRight = try await ForkedChild.succeeds { plugins.useVerbs() == 6 }
                    try #require(isRight, "child \(number)")
                }
            }
        }
    }
#endif
