import SluiceDuration
import SluiceTesting
import TestSupport
import Testing

/// The views of screens and their durations.
@Suite struct ScreensTests {
    private let time = VirtualTime()
    private let screens: Screens
    private let test: TestPipeline

    init() throws {
        let (time, screens) = (time, Screens())
        self.screens = screens
        test = try TestPipeline(time: time) { screens }
        test.pipeline.signal(.didBecomeActive)
    }

    private func pass(_ seconds: Int) { time.advance(by: .seconds(seconds)) }

    /// `+Name` for a view, `-Name 1000.0` for a leave after so many milliseconds.
    private func story(of other: TestPipeline? = nil) async -> [String] {
        await (other ?? test).events().map { event in
            guard case .string(let name) = event.properties["$screen_name"] else { return "no name" }
            guard event.name == "$AppPageLeave" else { return event.name == "$AppViewScreen" ? "+\(name)" : event.name }
            guard case .double(let duration) = event.properties["$event_duration"] else { return "-\(name)" }
            return "-\(name) \(duration)"
        }
    }

    @Test("a screen is viewed on entry, and left with the time on display")
    func screenIsViewedAndLeft() async {
        let home = screens.enter("Home", ["tab": 1])
        pass(2)
        screens.leave(home, ["by": "swipe"])
        screens.leave(home)
        let events = await test.events()
        #expect(events.map(\.name) == ["$AppViewScreen", "$AppPageLeave"])
        #expect(events[0].properties == ["$screen_name": "Home", "tab": 1])
        #expect(events[1].properties == ["$screen_name": "Home", "by": "swipe", "$event_duration": 2_000.0])
    }

    @Test("the referrer is the screen that was entered before")
    func referrerIsPreviousScreen() async {
        for name in ["Home", "Product", "Home"] { screens.show(name) }
        let views = await test.events().filter { $0.name == "$AppViewScreen" }
        #expect(views.map { $0.properties["$referrer"] } == [nil, "Home", "Product"])
    }

    // MARK: Stories

    /// What a host or its system does. Each step takes a second.
    enum Step: Sendable {
        case enter(String, in: String? = nil)
        case show(String)
        /// By the token of the screen that was entered first under this name.
        case leave(String)
        case leaveName(String)
        case signal(Signal)
        case changeUser
        /// Waits longer.
        case wait(Int)
    }

    struct Use: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let story: [String]
        let isActive: Bool
        let steps: [Step]

        init(_ description: String, _ story: [String], isActive: Bool = true, _ steps: Step...) {
            (testDescription, self.story, self.isActive, self.steps) = (description, story, isActive, steps)
        }
    }

    static let uses = [
        Use(
            "showing a screen leaves the others", ["+A", "-A 1000.0", "+B", "-B 3000.0", "+C"], .show("A"), .show("B"),
            .wait(1), .show("C")),
        Use(
            "a child and its parent are both on display, and a parent takes its children with it",
            [
                "+Tabs", "+List", "+Row", "+Badge", "-Badge 1000.0", "-Row 2000.0", "-List 3000.0", "-Tabs 4000.0",
            ], .enter("Tabs"), .enter("List", in: "Tabs"), .enter("Row", in: "List"), .enter("Badge", in: "Tabs"),
            .leave("Tabs"), .leave("List")),
        Use(
            "a child that leaves does not affect its parent", ["+Tabs", "+List", "-List 1000.0", "-Tabs 3000.0"],
            .enter("Tabs"), .enter("List", in: "Tabs"), .leave("List"), .leave("Tabs")),
        Use(
            "a name refers to the screen that was entered last",
            ["+Product", "+Product", "-Product 1000.0", "-Product 4000.0"], .enter("Product"), .enter("Product"),
            .leaveName("Product"), .leaveName("Nothing"), .leaveName("Product")),
        Use(
            "entering the background leaves the last screen, and returning starts its time again without a view",
            ["+Home", "-Home 2000.0", "-Home 4000.0"], .enter("Home"), .signal(.willResignActive),
            .signal(.didEnterBackground), .wait(100), .signal(.didBecomeActive), .wait(2), .leave("Home")),
        Use(
            "nested screens are left in the background from the inside",
            ["+Tabs", "+List", "-List 1000.0", "-Tabs 2000.0"], .enter("Tabs"), .enter("List", in: "Tabs"),
            .signal(.didEnterBackground), .leave("Tabs")),
        Use(
            "an interruption leaves no screen, and its time continues", ["+Home", "-Home 3000.0"], .enter("Home"),
            .signal(.willResignActive), .signal(.didBecomeActive), .leave("Home")),
        Use(
            "a termination in the foreground leaves the last screen", ["+Home", "-Home 1000.0"], .enter("Home"),
            .signal(.willTerminate), .signal(.willTerminate)),
        Use(
            "a screen that is entered in the background is viewed afterwards", ["+Home"], .signal(.didEnterBackground),
            .enter("Home"), .signal(.didBecomeActive)),
    ]

    static let launches = [nil, .launched(.foreground), .launched(.passive), .launched(.prewarmed)].map {
        (launch: Signal?) in
        Use(
            "\(launch.map { "\($0)" } ?? "no launch") counts no view until the app becomes active",
            ["+Home", "-Home 1000.0"], isActive: false, launch.map { .signal($0) } ?? .wait(0), .enter("Gone"),
            .enter("Home"), .wait(50), .leave("Gone"), .signal(.didBecomeActive), .leaveName("Home"))
    }

    private func perform(_ steps: [Step], _ screens: Screens, _ pipeline: Pipeline) throws {
        var tokens: [String: DurationToken] = [:]
        for step in steps {
            switch step {
            case .enter(let name, let parent):
                let token = screens.enter(name, in: parent.flatMap { tokens[$0] })
                tokens[name] = tokens[name] ?? token
            case .show(let name): screens.show(name)
            case .leave(let name): screens.leave(try #require(tokens[name]))
            case .leaveName(let name): screens.leave(name)
            case .signal(let signal): pipeline.signal(signal)
            case .changeUser: screens.emit(for: .userWillChange)
            case .wait(let seconds): time.advance(by: .seconds(seconds))
            }
            time.advance(by: .seconds(1))
        }
    }

    @Test("a host's use of screens gives these views and leaves", arguments: uses + launches)
    func useGivesStory(use: Use) async throws {
        let screens = Screens()
        let test = try TestPipeline(time: time) { screens }
        if use.isActive { test.pipeline.signal(.didBecomeActive) }
        try perform(use.steps, screens, test.pipeline)
        #expect(await story(of: test) == use.story)
    }

    @Test("at most a hundred screens are kept")
    func screensAreBounded() async {
        for number in 0...100 { screens.enter("\(number)") }
        let story = await story()
        #expect(story.filter { $0.hasPrefix("-") } == ["-0 0.0"])
    }

    @Test(
        "one diagnostic says that screens have no view, before the pipeline ends",
        arguments: [
            ("one screen", true, [.show("A")]), ("a screen that is left", true, [.enter("A"), .leave("A")]),
            ("150 screens", true, (0..<150).map { .show("\($0)") }),
            ("99 screens that are not left", true, (0..<99).map { .enter("\($0)") }),
            ("nested screens", true, [.enter("A"), .enter("B", in: "A")]),
            ("only the network is reported", true, [.signal(.connectivity(.available)), .show("A")]),
            ("no screen", false, []), ("a screen that is never entered", false, [.leaveName("A")]),
            ("active before", false, [.signal(.didBecomeActive), .show("A")]),
            ("active after the first one", true, [.show("A"), .signal(.didBecomeActive), .show("B")]),
            ("launched in the background", false, [.signal(.launched(.passive)), .show("A"), .show("B")]),
            ("launched after the first one", true, [.show("A"), .signal(.launched(.foreground)), .show("B")]),
            ("launched, and one waits", false, [.signal(.launched(.foreground)), .enter("A"), .enter("B")]),
            ("launched, and one is left", true, [.signal(.launched(.foreground)), .show("A"), .show("B")]),
            ("the user changes", true, [.signal(.launched(.foreground)), .enter("A"), .changeUser]),
            ("the user changes in a passive launch", false, [.signal(.launched(.passive)), .enter("A"), .changeUser]),
            ("terminated", true, [.signal(.launched(.foreground)), .enter("A"), .signal(.willTerminate)]),
            ("in the background", true, [.signal(.didEnterBackground), .show("A"), .show("B")]),
            (
                "in the background after an active time", true,
                [.signal(.didBecomeActive), .show("Home"), .signal(.didEnterBackground)]
                    + (0..<150).map { .show("\($0)") }
            ),
            (
                "waits in the background", false,
                [.signal(.didBecomeActive), .signal(.didEnterBackground), .show("A"), .signal(.didBecomeActive)]
            ),
            (
                "the former user's, left in the background", false,
                [
                    .signal(.didBecomeActive), .show("A"), .changeUser, .signal(.didEnterBackground),
                    .leaveName("A"),
                ]
            ),
            ("inactive", true, [.signal(.willResignActive), .enter("A"), .leave("A")]),
            (
                "entered during a launch", false,
                [.signal(.launched(.foreground)), .enter("A"), .enter("B", in: "A"), .signal(.didBecomeActive)]
            ),
        ] as [(String, Bool, [Step])])
    func missingViewsAreReported(host: String, isReported: Bool, steps: [Step]) async throws {
        let screens = Screens()
        let test = try TestPipeline(time: time) { screens }
        try perform(steps, screens, test.pipeline)
        #expect(test.diagnostics.map { $0.message.contains("AppSignals") } == (isReported ? [true] : []), "\(host)")
    }

    @Test(
        "screens after the end of the pipeline are dropped and counted, and the next pipeline needs a signal",
        arguments: [
            ([], 1, [.show("A")]), ([.signal(.didBecomeActive), .enter("A")], 2, [.enter("B"), .leaveName("B")]),
            (
                [.signal(.launched(.passive)), .show("A"), .signal(.didEnterBackground)], 4,
                [.enter("B"), .enter("C", in: "B"), .leave("B")]
            ),
        ] as [([Step], Int, [Step])])
    func lateScreensAreCounted(before: [Step], count: Int, after: [Step]) async throws {
        let screens = Screens()
        var pipeline: Pipeline? = try TestPipeline(time: time) { screens }.pipeline
        try pipeline.map { try perform(before, screens, $0) }
        await pipeline?.shutdown()
        try pipeline.map { try perform(after, screens, $0) }
        #expect(pipeline?.ledger.dropped == [.shutDown: count])
        pipeline = nil
        let next = try TestPipeline(time: time) { screens }
        screens.show("Next")
        #expect(await story(of: next) == [])
    }

    @Test("screens that are entered before the pipeline is built report nothing until then")
    func earlyScreensReportNothing() async throws {
        let screens = Screens()
        for name in ["A", "B", "C"] { screens.enter(name) }
        let test = try TestPipeline(time: time) { screens }
        #expect(test.diagnostics.isEmpty)
        test.pipeline.signal(.didBecomeActive)
        #expect(await story(of: test) == ["+A", "+B", "+C"])
        #expect(test.diagnostics.isEmpty)
    }
}
