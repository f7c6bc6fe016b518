import Sluice
import SluiceLifecycle
import SluicePassiveLaunch
import SluiceTesting
import SwiftUI
import TestSupport
import Testing
import UIKit

@testable import SluiceDuration

/// The adapters of `Screens`, driven by views and view controllers that appear as the test says.
@Suite(.serialized) @MainActor struct ScreenTests {
    private let store = RecordingStore()
    private let screens = Screens()
    private let pipeline: Pipeline

    init() throws {
        let (store, screens) = (store, screens)
        pipeline = try store.pipeline(screens)
        pipeline.signal(.didBecomeActive)
    }

    /// "+" and "-" with the name of each screen.
    private var story: [String] {
        store.events.map { event in
            (event.name == "$AppViewScreen" ? "+" : "-") + (event.properties["$screen_name"]?.string ?? "")
        }
    }

    // MARK: SwiftUI

    private func appear(_ view: some View) { for action in view.actions.appear { action() } }
    private func disappear(_ view: some View) { for action in view.actions.disappear { action() } }

    @Test("a view is a screen while it is visible, each time")
    func viewIsScreenWhileVisible() {
        EnvironmentValues.current.screens = screens
        defer { EnvironmentValues.current = EnvironmentValues() }
        let home = EmptyView().trackScreen("Home", ["tab": 1])
        let sku = "A-7"
        let sheet = EmptyView().trackScreen("Sheet", ["sku": sku])
        for view in 0..<2 {
            appear(home)
            if view == 0 { appear(home) }  // SwiftUI can call it twice.
            appear(sheet)
            disappear(sheet)
            disappear(home)
            disappear(home)
        }
        #expect(story == ["+Home", "+Sheet", "-Sheet", "-Home", "+Home", "+Sheet", "-Sheet", "-Home"])
        #expect(store.events[0].properties["tab"] == 1 && store.events[1].properties["sku"] == "A-7")
        #expect(store.events[1].properties["$referrer"] == "Home")
    }

    @Test("two views of one name are two screens")
    func viewsOfOneNameAreTwo() {
        EnvironmentValues.current.screens = screens
        defer { EnvironmentValues.current = EnvironmentValues() }
        let (one, two) = (EmptyView().trackScreen("Product", ["n": 1]), EmptyView().trackScreen("Product", ["n": 2]))
        appear(one)
        appear(two)
        disappear(one)
        disappear(two)
        #expect(story == ["+Product", "+Product", "-Product", "-Product"])
    }

    @Test("without screens in the environment, a view is as it was")
    func previewHasNoScreens() {
        let view = EmptyView().trackScreen("Home")
        appear(view)
        disappear(view)
        #expect(EnvironmentValues.current.screens == nil)
        #expect(store.events.isEmpty)
    }

    @Test(
        "a view that appears before the app is active is viewed when it becomes active, after $AppStart",
        arguments: [
            (TASK_FOREGROUND_APPLICATION, 0, ["$AppStart", "$AppViewScreen"]),
            (TASK_NONUI_APPLICATION, 20, ["$AppStartPassively[background]", "$AppStart", "$AppViewScreen"]),
        ])
    func earlyViewFollowsStart(role: task_role_t, seconds: Int, expected: [String]) throws {
        let (screens, store, time, center) = (Screens(), RecordingStore(), VirtualTime(), NotificationCenter())
        EnvironmentValues.current.screens = screens
        standInRole = role
        UIApplication.shared.applicationState = .background
        defer {
            EnvironmentValues.current = EnvironmentValues()
            standInRole = TASK_FOREGROUND_APPLICATION
            UIApplication.shared.applicationState = .inactive
        }
        let pipeline = try store.pipeline(
            in: PipelineEnvironment(time: time), PassiveLaunchTagger(), LifecycleEvents(), screens)
        let app = AppSignals(to: pipeline, from: center)
        appear(EmptyView().trackScreen("Home"))
        time.advance(by: .seconds(seconds))
        #expect(store.events.allSatisfy { $0.name == "$AppStartPassively" })
        for name in [UIScene.willEnterForegroundNotification, UIApplication.didBecomeActiveNotification] {
            center.post(name: name, object: nil)
        }
        let story = store.events.map { $0.name + ($0.properties["$app_state"] == "background" ? "[background]" : "") }
        #expect(story == expected)
        withExtendedLifetime(app) {}
    }

    // MARK: UIKit

    private final class NamedController: UIViewController {
        let name: String?
        init(_ name: String?) { self.name = name }
    }

    private func observe() { screens.observeViewControllers { ($0 as? NamedController)?.name } }

    /// Calls what the replaced implementations call.
    private var observation: ViewControllerObservation { .shared }

    @Test("the view controllers that the predicate names are screens")
    func namedControllersAreScreens() {
        observe()
        let controllers = [NamedController("Home"), UIViewController(), NamedController(nil), NamedController("Cart")]
        for controller in controllers { observation.didAppear(controller) }
        observation.didAppear(controllers[0])
        for controller in controllers { observation.didDisappear(controller) }
        observation.didDisappear(controllers[0])
        observation.didAppear(controllers[0])
        #expect(story == ["+Home", "+Cart", "-Home", "-Cart", "+Home"])
        observation.didDisappear(controllers[0])
    }

    @Test("a view controller within a screen is left with it, also through one that is no screen")
    func childIsLeftWithParent() {
        observe()
        let (product, container, reviews) = (NamedController("Product"), UIViewController(), NamedController("Reviews"))
        product.addChild(container)
        container.addChild(reviews)
        for controller in [product, container, reviews] { observation.didAppear(controller) }
        observation.didDisappear(product)
        #expect(story == ["+Product", "+Reviews", "-Reviews", "-Product"])
        observation.didDisappear(reviews)
        #expect(story.count == 4)
    }

    @Test("a view controller that is released while it is visible is left at the next appearance")
    func releasedControllerIsLeft() {
        observe()
        do {
            let lost = NamedController("Lost")
            observation.didAppear(lost)
            withExtendedLifetime(lost) {}
        }
        let home = NamedController("Home")
        observation.didAppear(home)
        observation.didDisappear(home)
        #expect(story == ["+Lost", "-Lost", "+Home", "-Home"])
    }

    @Test("a predicate may add an observer")
    func predicateMayAddObserver() {
        let other = Screens()
        screens.observeViewControllers { _ in
            other.observeViewControllers { _ in nil }
            return "Home"
        }
        let home = NamedController("Home")
        observation.didAppear(home)
        observation.didDisappear(home)
        #expect(story == ["+Home", "-Home"])
    }

    @Test("a second call replaces the predicate; a visible screen is left under its name")
    func secondCallReplacesPredicate() {
        observe()
        let home = NamedController("Home")
        observation.didAppear(home)
        screens.observeViewControllers { _ in "Other" }
        observation.didDisappear(home)
        observation.didAppear(home)
        observation.didDisappear(home)
        #expect(story == ["+Home", "-Home", "+Other", "-Other"])
    }

    @Test("two sets of screens are told of the same view controllers, and a released one isn't kept")
    func observersAreIndependent() throws {
        observe()
        weak var gone: Screens?
        let other = RecordingStore()
        let home = NamedController("Home")
        do {
            let second = Screens()
            gone = second
            let pipeline = try other.pipeline(second)
            pipeline.signal(.didBecomeActive)
            second.observeViewControllers { _ in "Second" }
            observation.didAppear(home)
            withExtendedLifetime(pipeline) {}
        }
        #expect(other.events.map { $0.properties["$screen_name"] } == ["Second"])
        #expect(gone == nil)
        observation.didDisappear(home)
        #expect(story == ["+Home", "-Home"])
    }
}
