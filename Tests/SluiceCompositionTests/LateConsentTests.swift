import Sluice
import SluiceFilters
import SluiceIdentity
import SluiceTesting
import TestSupport
import Testing

/// A route whose consent comes after the login, below stages that all routes share.
@Suite struct LateConsentTests {
    private let directory = TemporaryDirectory()
    private let answers = TemporaryDirectory()
    private static let key = Array("0123456789abcdef0123456789abcdef".utf8)

    /// A launch of an app with a route without consent, and two that need one each.
    private struct Launch {
        let identity: Identity
        let consents: [Consent]
        let pipeline: Pipeline
        let stores = [RecordingStore(), RecordingStore(), RecordingStore()]
        let traces = TraceRecorder()

        /// - Parameters:
        ///   - above: The shared stages above the identity.
        ///   - below: The shared stages below it.
        ///   - own: The stages of the second route, above its consent.
        init(
            _ identity: Identity, _ consents: [Consent], _ above: [any Processor], _ below: [any Processor],
            _ own: [any Processor]
        ) throws {
            let (stores, traces) = (self.stores, self.traces)
            (self.identity, self.consents) = (identity, consents)
            pipeline = try Pipeline(environment: PipelineEnvironment(time: VirtualTime()), onTrace: traces.record) {
                for processor in above { processor }
                identity
                for processor in below { processor }
                stores[0].route("free")
                Route("crm") {
                    for processor in own { processor }
                    consents[0]
                    stores[1]
                    NullTransport()
                }
                stores[2].route("ads", consents[1])
            }
        }

        /// The sign-ups that each route has stored.
        var signUps: [[Event]] { stores.map { $0.events(named: "$SignUp") } }

        /// Ends the launch; returns the sign-ups of each route.
        func end() async -> [[Event]] {
            let ledger = await pipeline.shutdown(timeout: .seconds(600))
            #expect(ledger.isBalanced, "\(ledger)")
            return signUps
        }
    }

    private func launch(
        above: [any Processor] = [], _ below: [any Processor] = [], own: [any Processor] = [],
        whilePending: Consent.WhilePending = .drop, grantsEarly: Bool = false
    ) throws -> Launch {
        let consents = ["crm", "ads"].map {
            Consent(persistedIn: .file(answers.path + "/" + $0), whilePending: whilePending)
        }
        if grantsEarly { for consent in consents { try consent.grant() } }
        return try Launch(Identity(persistedIn: .file(directory.path)), consents, above, below, own)
    }

    /// Logs in, and grants the consent of the second route, in the same launch or in the next one.
    ///
    /// - Returns: The sign-ups of each route.
    private func signUps(
        isLater: Bool, user: String = "a@b.example", above: [any Processor] = [], _ below: [any Processor] = [],
        own: [any Processor] = []
    ) async throws -> [[Event]] {
        let first = try launch(above: above, below, own: own)
        try first.identity.login(user, ["email": "a@b.example"])
        guard isLater else {
            try first.consents[0].grant()
            return await first.end()
        }
        let before = await first.end()
        #expect(before[1].isEmpty)
        let second = try launch(above: above, below, own: own)
        try second.consents[0].grant()
        let after = await second.end()
        return zip(before, after).map { $0 + $1 }
    }

    /// A login in a launch without an answer.
    private func logInEarlier() async throws {
        let launch = try launch()
        try launch.identity.login("42")
        _ = await launch.end()
    }

    private func same(_ one: Event?, _ other: Event?) -> Bool {
        guard let one, let other else { return false }
        return one.id == other.id && one.time == other.time && one.distinctID == other.distinctID
            && one.anonymousID == other.anonymousID && one.loginID == other.loginID
            && one.properties == other.properties
    }

    @Test(
        "a grant after the login sends the join to that backend once, and to no other",
        arguments: [Consent.WhilePending.drop, .hold])
    func grantSendsJoinOnce(whilePending: Consent.WhilePending) async throws {
        let launch = try launch(whilePending: whilePending)
        try launch.identity.login("customer-42", ["plan": "pro"])
        for _ in 0..<2 {
            try launch.consents[0].grant()
            for signal in [Signal.didEnterBackground, .didBecomeActive] { launch.pipeline.signal(signal) }
        }
        let signUps = await launch.end()
        #expect(signUps.map(\.count) == [1, 1, 0] && same(signUps[0].first, signUps[1].first))
        let join = try #require(signUps[1].first)
        #expect(join.loginID == "customer-42" && join.properties["$set"] == ["plan": "pro"])
        #expect(join.properties["$original_id"] == launch.identity.anonymousID.map { .string($0) })
        #expect(try await self.launch().end().map(\.count) == [0, 0, 0])
    }

    @Test("after a denial, and for the user before a logout, there is no join", arguments: [true, false])
    func formerAnswerSendsNothing(isDenied: Bool) async throws {
        let first = try launch()
        try first.identity.login("42")
        if isDenied {
            try first.consents[0].deny()
        } else {
            try first.identity.logout()
            try first.consents[0].grant()
        }
        first.pipeline.track("Event")
        #expect(await first.end().map(\.count) == [1, 0, 0])
        #expect(try await launch().end().map(\.count) == [0, 0, 0])
    }

    @Test("a join that can't be stored is sent by the next launch")
    func unstoredJoinIsRepeated() async throws {
        let first = try launch()
        try first.identity.login("42")
        _ = await first.end()
        // Its pipeline is gone, so the event can't be stored.
        try first.consents[0].grant()
        for count in [1, 0] { #expect(try await launch().end()[1].count == count) }
    }

    @Test("a grant in one route doesn't send the identity of another route")
    func identityOfOtherRouteStaysThere() async throws {
        let (identity, consent, crm) = (
            Identity(persistedIn: .memory), Consent(persistedIn: .memory), RecordingStore()
        )
        let pipeline = try Pipeline {
            RecordingStore().route("free", identity)
            crm.route("crm", consent)
        }
        try identity.login("42")
        try consent.grant()
        pipeline.track("Event")
        #expect(crm.events.map(\.name) == ["Event"])
        #expect(await pipeline.shutdown(timeout: .seconds(600)).isBalanced)
    }

    @Test("the join has passed the shared stages, also in a later launch", arguments: [false, true])
    func joinPassesSharedStages(isLater: Bool) async throws {
        let stages: [any Processor] = [Redaction(patterns: [.email]), Transform { $0.properties["seen"] = true }]
        let signUps = try await signUps(isLater: isLater, stages)
        #expect(signUps.map(\.count) == [1, 1, 0])
        let join = try #require(signUps[1].first)
        #expect(same(join, signUps[0].first))
        #expect(join.properties["$set"] == ["email": "[email]"] && join.properties["seen"] == true)
        #expect(join.distinctID == "a@b.example")
    }

    @Test("the join has the pseudonyms of the other routes, and no id in plain text", arguments: [false, true])
    func joinIsPseudonymous(isLater: Bool) async throws {
        let pseudonyms = Pseudonyms(key: Self.key, properties: ["email"])
        let signUps = try await signUps(isLater: isLater, [pseudonyms])
        let join = try #require(signUps[1].first)
        #expect(same(join, signUps[0].first))
        #expect(join.distinctID == pseudonyms.pseudonym(of: "a@b.example"))
        #expect(!"\(join)".contains("a@b.example"))
    }

    @Test("the join passes the stages above the consent in its route too", arguments: [false, true])
    func joinPassesStagesOfRoute(isLater: Bool) async throws {
        let signUps = try await signUps(isLater: isLater, own: [Redaction(patterns: [.email])])
        #expect(signUps[0].first?.properties["$set"] == ["email": "a@b.example"])
        #expect(signUps[1].map { $0.properties["$set"] } == [["email": "[email]"]])
    }

    @Test("a user is in the sample with the join, or not at all", arguments: [false, true])
    func joinFollowsSample(isLater: Bool) async throws {
        var counts: [Int] = []
        for number in 0..<20 {
            directory.remove("identity.json")
            answers.remove("crm/consent.json")
            let signUps = try await signUps(isLater: isLater, user: "user \(number)", [Sampling(rate: 0.5)])
            #expect(signUps[0].map(\.id) == signUps[1].map(\.id))
            counts.append(signUps[1].count)
        }
        #expect(Set(counts) == [0, 1])
    }

    @Test("a join that a shared stage drops is not sent by a later launch")
    func droppedJoinIsDone() async throws {
        let names = EventNames(denied: ["$SignUp"])
        #expect(try await signUps(isLater: false, [names]).map(\.count) == [0, 0, 0])
        let answer = try String(decoding: answers.read("crm/consent.json"), as: UTF8.self)
        #expect(answer.contains("granted") && !answer.contains("owes_join"))
    }

    @Test("erasing by the distinct id finds the join", arguments: [false, true])
    func erasureFindsJoin(isLater: Bool) async throws {
        let first = try launch()
        first.pipeline.pauseDelivery()
        try first.identity.login("42")
        if isLater { _ = await first.end() }
        let launch = isLater ? try self.launch() : first
        launch.pipeline.pauseDelivery()
        try launch.consents[0].grant()
        #expect(launch.signUps[1].count == 1)
        let report = await launch.pipeline.erase { $0.distinctID == "42" }
        #expect(report.events == (isLater ? 1 : 2))
        _ = await launch.end()
    }

    @Test("each of two routes gets its join from its own consent, below stages that drop repetitions")
    func routesGetTheirJoins() async throws {
        let limits: [any Processor] = [RateLimit(1, per: .seconds(60)), Deduplication(within: .seconds(60))]
        let more: [any Processor] = [RateLimit(1, per: .seconds(60)), Deduplication(within: .seconds(60))]
        let launch = try launch(above: limits, more)
        try launch.identity.login("42")
        try launch.consents[1].grant()
        #expect(launch.signUps.map(\.count) == [1, 0, 1])
        try launch.consents[0].grant()
        for consent in launch.consents { try consent.grant() }
        #expect(await launch.end().map(\.count) == [1, 1, 1])
    }

    @Test("grants in a later launch, before its pipeline is built, send the join to each of two routes")
    func earlyGrantsSendJoins() async throws {
        try await logInEarlier()
        let second = try launch([Transform { $0.properties["seen"] = true }], grantsEarly: true)
        let signUps = await second.end()
        #expect(signUps.map(\.count) == [0, 1, 1])
        #expect(signUps.joined().allSatisfy { $0.distinctID == "42" && $0.properties["seen"] == true })
        #expect(try await launch().end().map(\.count) == [0, 0, 0])
    }

    @Test("a join that is dropped as a repetition, or while collection is off, is sent by the next launch")
    func passingDropIsRepeated() async throws {
        try await logInEarlier()
        let second = try launch([Deduplication(within: .seconds(60))])
        for consent in second.consents { try consent.grant() }
        #expect(await second.end().map(\.count) == [0, 1, 0])
        let settings = CollectionSettings(persistedIn: .memory)
        try settings.setEnabled(false)
        let third = try launch(above: [settings])
        #expect(await third.end().map(\.count) == [0, 0, 0])
        #expect(try await launch().end().map(\.count) == [0, 0, 1])
        #expect(try await launch().end().map(\.count) == [0, 0, 0])
    }

    @Test("a join that a shared stage holds continues with it, and all events are accounted for")
    func heldJoinContinues() async throws {
        try await logInEarlier()
        let holder = Holder()
        let second = try launch([holder])
        try second.consents[0].grant()
        #expect(second.pipeline.ledger.held == 1 && second.pipeline.ledger.isBalanced)
        holder.release()
        #expect(await second.end()[1].count == 1)
        #expect(try await launch().end()[1].isEmpty)
    }

    @Test("the ledger counts the join in its route, and the trace shows all of its stages")
    func joinIsAccountedFor() async throws {
        try await logInEarlier()
        let second = try launch([Redaction()])
        try second.consents[0].grant()
        let ledger = second.pipeline.ledger
        #expect(ledger.tracked == 0 && ledger.routes.map(\.inserted) == [0, 1, 0])
        let trace = try #require(second.traces.traces(named: "$SignUp").first)
        #expect(trace.stages.map(\.name) == ["Identity", "Redaction", "Consent"])
        #expect(trace.stages.map(\.route) == [nil, nil, "crm"])
        #expect(trace.startsBelow == nil && trace.routes.map(\.name) == ["crm"] && trace.isStored)
        _ = await second.end()
        let third = try launch([Sampling(rate: 0)])
        try third.consents[1].grant()
        #expect(third.pipeline.ledger.routes.map { $0.dropped[.sampledOut] } == [nil, nil, 1])
        let dropped = try #require(third.traces.traces(named: "$SignUp").first)
        #expect(dropped.disposition.dropReason == .sampledOut && dropped.routes.isEmpty)
        #expect(await third.end().map(\.count) == [0, 0, 0])
    }
}
