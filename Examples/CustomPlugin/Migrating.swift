// Our side of the code in Docs/Migrating.md. A test compares them, so the page contains only code that compiles.

import SluiceAutoProperties
import SluiceDuration
import SluiceFilters
import SluiceHTTP
import SluiceIdentity
import SluiceJSONL
import SluiceLifecycle

enum Migrating {
    static func segment(
        folder: String, writeKey: String, query: String, results: [String], user: String, plan: String, seats: Int
    ) async throws {
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let screens = Screens()
        let pipeline = try Pipeline {
            identity
            screens
            JSONLStore(at: folder + "/events")
            HTTPTransport(to: "https://api.segment.io", format: .segment(writeKey: writeKey))
        }
        pipeline.track("Search", ["query": query, "results": results.count])
        try identity.login(user, ["plan": plan])
        try identity.join(group: "acme", ofType: "company", ["seats": seats])
        pipeline.signal(.didBecomeActive)  // AppSignals does this in apps.
        screens.show("Product", ["sku": "A-7"])
        await pipeline.flush()
        try identity.reset()
    }

    static func postHog(
        folder: String, apiKey: String, query: String, results: [String], user: String, plan: String, seats: Int,
        tier: String
    ) async throws {
        let auto = AutoProperties()
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let screens = Screens()
        let settings = CollectionSettings(persistedIn: .file(folder + "/state"))
        let pipeline = try Pipeline {
            settings
            auto
            identity
            screens
            JSONLStore(at: folder + "/events")
            HTTPTransport(to: "https://us.i.posthog.com", format: .postHog(apiKey: apiKey))
        }
        pipeline.track("Search", ["query": query, "results": results.count])
        try identity.login(user, ["plan": plan])
        auto.register(["tier": tier])
        try identity.join(group: "acme", ofType: "company", ["seats": seats])
        pipeline.signal(.didBecomeActive)  // AppSignals does this in apps.
        screens.show("Product", ["sku": "A-7"])
        await pipeline.flush()
        try settings.setEnabled(false)
        try identity.reset()
    }

    static func amplitude(
        folder: String, apiKey: String, query: String, results: [String], user: String, plan: String
    ) async throws {
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let pipeline = try Pipeline {
            identity
            Sessions()
            JSONLStore(at: folder + "/events")
            HTTPTransport(to: "https://api2.amplitude.com", format: .amplitude(apiKey: apiKey))
        }
        pipeline.track("Search", ["query": query, "results": results.count])
        try identity.login(user)
        identity.profile.set(["plan": plan])
        try identity.profile.increment(["logins": 1])
        try identity.join(group: "acme", ofType: "company")
        await pipeline.flush()
        try identity.reset()
    }

    static func mixpanel(
        folder: String, token: String, query: String, results: [String], user: String, plan: String, tier: String
    ) async throws {
        let auto = AutoProperties()
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let timers = DurationTimer()
        let pipeline = try Pipeline {
            auto
            identity
            timers
            JSONLStore(at: folder + "/events")
            HTTPTransport(to: "https://api.mixpanel.com", format: .mixpanel(token: token))
        }
        pipeline.track("Search", ["query": query, "results": results.count])
        timers.start("Checkout")
        timers.end("Checkout", ["items": results.count])
        auto.register(["tier": tier])
        try identity.login(user)
        identity.profile.set(["plan": plan])
        try identity.profile.increment(["logins": 1])
        try identity.join(group: "acme", ofType: "company")
        await pipeline.flush()
        try identity.reset()
    }

    static func firebase(
        folder: String, query: String, results: [String], user: String, plan: String, tier: String
    ) throws {
        let auto = AutoProperties()
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let screens = Screens()
        let settings = CollectionSettings(persistedIn: .file(folder + "/state"))
        let pipeline = try Pipeline {
            settings
            auto
            identity
            screens
            Sessions()
            JSONLStore(at: folder + "/events")
            HTTPTransport(to: "https://collector.example/events", format: .ndjson)
        }
        pipeline.track("search", ["search_term": query, "results": results.count])
        pipeline.signal(.didBecomeActive)  // AppSignals does this in apps.
        screens.show("Product", ["sku": "A-7"])
        try identity.login(user)
        identity.profile.set(["plan": plan])
        auto.register(["tier": tier])
        try settings.setEnabled(false)
        try identity.reset()
    }

    static func appCenter(folder: String, query: String, results: [String], user: String) async throws {
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let settings = CollectionSettings(persistedIn: .file(folder + "/state"))
        let pipeline = try Pipeline {
            settings
            identity
            Limits(.appCenter)
            Route.appCenter { name in
                JSONLStore(at: folder + "/" + name)
                HTTPTransport(to: "https://collector.example/events", format: .ndjson)
            }
        }
        pipeline.track("Search", ["query": query, "results": results.count])
        pipeline.track("Purchase", ["sku": "A-7"], priority: .critical)
        try identity.login(user)
        pipeline.pauseDelivery()
        pipeline.resumeDelivery()
        try settings.setEnabled(false)
    }

    static func sensors(
        folder: String, query: String, results: [String], user: String, plan: String, tier: String
    ) async throws {
        let auto = AutoProperties()
        let identity = Identity(persistedIn: .file(folder + "/state"))
        let timers = DurationTimer()
        let screens = Screens()
        let pipeline = try Pipeline(delivery: .sensors) {
            auto
            identity
            timers
            screens
            Limits(.sensors)
            JSONLStore(at: folder + "/events")
            HTTPTransport(to: "https://sensors.example:8106/sa?project=shop", format: .sensors())
        }
        pipeline.track("Search", ["query": query, "results": results.count])
        try identity.login(user)
        identity.profile.set(["plan": plan])
        try identity.profile.increment(["logins": 1])
        auto.register(["tier": tier])
        auto.registerDynamic("results") { results.count }
        timers.start("Checkout")
        timers.end("Checkout", ["items": results.count])
        pipeline.signal(.didBecomeActive)  // AppSignals does this in apps.
        screens.show("Product", ["sku": "A-7"])
        await pipeline.flush()
        try identity.logout()
    }

    /// `alias(newId:)` of Segment.
    static func alias(_ identity: Identity, newID: String) throws {
        if let formerID = identity.distinctID {
            try identity.login(newID)
            try identity.alias(formerID)
        }
    }
}
