import Sluice
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
        screens.show("Home")
        screens.show("Product")
        screens.show("Home")
        let views = await test.events().filter { $0.name == "$AppViewScreen" }
        #expect(views.map { $0.properties["$referrer"] } == [nil, "Home", "Product"])
    }

    @Test("showing a screen leaves the others")
    func showLeavesOthers() async {
        screens.show("A")
        pass(1)
        screens.show("B")
        pass(2)
        screens.show("C")
        #expect(await story() == ["+A", "-A 1000.0", "+B", "-B 2000.0", "+C"])
    }

    @Test("a child and its parent are both on display, and a parent takes its children with it")
    func parentTakesItsChildren() async {
        let tabs = screens.enter("Tabs")
        pass(1)
        let list = screens.enter("List", in: tabs)
        pass(1)
        screens.enter("Row", in: list)
        pass(1)
        screens.leave(tabs)
        screens.leave(list)
        #expect(await story() == ["+Tabs", "+List", "+Row", "-Row 1000.0", "-List 2000.0", "-Tabs 3000.0"])
    }

    @Test("a child that leaves does not affect its parent")
    func leavingChildKeepsParent() async {
        let tabs = screens.enter("Tabs")
        let list = screens.enter("List", in: tabs)
        pass(1)
        screens.leave(list)
        pass(1)
        screens.leave(tabs)
        #expect(await story() == ["+Tabs", "+List", "-List 1000.0", "-Tabs 2000.0"])
    }

    @Test("a name refers to the screen that was entered last")
    func nameMeansLatestScreen() async {
        screens.enter("Product", ["sku": 1])
        pass(1)
        screens.enter("Product", ["sku": 2])
        pass(1)
        screens.leave("Product")
        screens.leave("Nothing")
        screens.leave("Product")
        #expect(await story() == ["+Product", "+Product", "-Product 1000.0", "-Product 2000.0"])
    }

    @Test("entering the background leaves the last screen, and returning starts its time again without a view")
    func backgroundLeavesScreens()
        async
    {
        let home = screens.enter("Home")
        pass(1)
        test.pipeline.signal(.willResignActive)
        pass(1)
        test.pipeline.signal(.didEnterBackground)
        pass(100)
        test.pipeline.signal(.didBecomeActive)
        pass(3)
        screens.leave(home)
        #expect(await story() == ["+Home", "-Home 2000.0", "-Home 3000.0"])
    }

    @Test("nested screens are left in the background from the inside")
    func nestedScreensAreLeftFromInside() async {
        let tabs = screens.enter("Tabs")
        screens.enter("List", in: tabs)
        test.pipeline.signal(.didEnterBackground)
        screens.leave(tabs)
        #expect(await story() == ["+Tabs", "+List", "-List 0.0", "-Tabs 0.0"])
    }

    @Test("an interruption leaves no screen")
    func interruptionLeavesNothing() async {
        screens.enter("Home")
        test.pipeline.signal(.willResignActive)
        test.pipeline.signal(.didBecomeActive)
        #expect(await story() == ["+Home"])
    }

    @Test("a termination in the foreground leaves the last screen")
    func terminationLeavesScreen() async {
        screens.enter("Home")
        pass(1)
        test.pipeline.signal(.willTerminate)
        test.pipeline.signal(.willTerminate)
        #expect(await story() == ["+Home", "-Home 1000.0"])
    }

    @Test(
        "a launch counts no view until the app becomes active",
        arguments: [nil, .launched(.foreground), .launched(.passive), .launched(.prewarmed)] as [Signal?])
    func launchCountsNoView(launch: Signal?) async throws {
        let screens = Screens()
        let test = try TestPipeline(time: time) { screens }
        if let launch { test.pipeline.signal(launch) }
        let gone = screens.enter("Gone")
        screens.enter("Home")
        pass(50)
        screens.leave(gone)
        test.pipeline.signal(.didBecomeActive)
        pass(1)
        screens.leave("Home")
        #expect(await story(of: test) == ["+Home", "-Home 1000.0"])
    }

    @Test("a screen that is entered in the background is viewed afterwards")
    func backgroundScreenIsViewedLater() async {
        test.pipeline.signal(.didEnterBackground)
        screens.enter("Home")
        test.pipeline.signal(.didBecomeActive)
        #expect(await story() == ["+Home"])
    }

    @Test("at most a hundred screens are kept")
    func screensAreBounded() async {
        for number in 0...100 { screens.enter("\(number)") }
        let story = await story()
        #expect(story.filter { $0.hasPrefix("-") } == ["-0 0.0"])
    }

    /// The calls of a host, and whether it loses a screen.
    private static let hosts: [(name: String, isReported: Bool, use: @Sendable (Screens, Pipeline) -> Void)] = [
        ("one screen", true, { screens, _ in screens.show("A") }),
        ("a screen that is left", true, { screens, _ in screens.leave(screens.enter("A")) }),
        ("150 screens", true, { screens, _ in for number in 0..<150 { screens.show("\(number)") } }),
        ("nested screens", true, { screens, _ in screens.enter("B", in: screens.enter("A")) }),
        (
            "only the network is reported", true,
            { screens, pipeline in
                pipeline.signal(.connectivity(.available))
                screens.show("A")
            }
        ),
        ("no screen", false, { _, pipeline in pipeline.track("Event") }),
        ("a screen that is never entered", false, { screens, _ in screens.leave("A") }),
        (
            "active before", false,
            { screens, pipeline in
                pipeline.signal(.didBecomeActive)
                screens.show("A")
            }
        ),
        (
            "active after the first one", false,
            { screens, pipeline in
                screens.show("A")
                pipeline.signal(.didBecomeActive)
                screens.show("B")
            }
        ),
        (
            "launched in the background", false,
            { screens, pipeline in
                pipeline.signal(.launched(.passive))
                for name in ["A", "B"] { screens.show(name) }
            }
        ),
        (
            "launched after the first one", false,
            { screens, pipeline in
                screens.show("A")
                pipeline.signal(.launched(.foreground))
                screens.show("B")
            }
        ),
        (
            "in the background", false,
            { screens, pipeline in
                pipeline.signal(.didEnterBackground)
                for name in ["A", "B"] { screens.show(name) }
            }
        ),
    ]

    @Test("without any signal, one diagnostic says that screens are not tracked", arguments: hosts.indices)
    func missingSignalsAreReported(index: Int) async throws {
        let host = Self.hosts[index]
        let screens = Screens()
        let test = try TestPipeline(time: time) { screens }
        host.use(screens, test.pipeline)
        _ = await test.eventsWithEnd()
        #expect(
            test.diagnostics.map { $0.message.contains("AppSignals") } == (host.isReported ? [true] : []),
            "\(host.name)")
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
