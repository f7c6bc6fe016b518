#if canImport(UIKit) && !os(watchOS)
    public import UIKit

    extension Screens {
        /// Tracks view controllers as screens by themselves, from now on, as long as this object exists.
        ///
        /// ```swift
        /// screens.observeViewControllers { controller in
        ///     switch controller {
        ///     case let controller as any NamedScreen: controller.screenName
        ///     case is ProductController: "Product"
        ///     default: nil
        ///     }
        /// }
        /// ```
        ///
        /// Call it once, on the main thread, before your first window is visible. A second call replaces the closure.
        /// It replaces the implementations of `viewDidAppear(_:)` and `viewDidDisappear(_:)` of `UIViewController` by
        /// ones that call the original implementations first. A view controller that overrides them must call `super`,
        /// as UIKit demands. Don't use it beside another library that restores the original implementations.
        ///
        /// A view controller inside of a tracked one, such as a child or a page, is a part of that screen: it is left
        /// with it.
        ///
        /// - Parameter name: Called on the main thread for each view controller that appears, including the system's
        ///   own. Returns the screen's name, or nil for a view controller that is no screen, such as a navigation
        ///   controller.
        @MainActor public func observeViewControllers(named name: @escaping @MainActor (UIViewController) -> String?) {
            ViewControllerObservation.shared.add(self, name)
        }
    }

    /// Passes the appearances of all view controllers to its observers.
    @MainActor
    final class ViewControllerObservation {
        private struct Visit {
            weak var controller: UIViewController?
            let token: DurationToken
        }

        @MainActor
        private struct Observer {
            weak var screens: Screens?
            var name: @MainActor (UIViewController) -> String?
            var visits: [ObjectIdentifier: Visit] = [:]

            func token(of controller: UIViewController) -> DurationToken? {
                visits[ObjectIdentifier(controller)]?.token
            }

            mutating func didAppear(_ controller: UIViewController) {
                leaveReleased()
                guard let screens, token(of: controller) == nil, let name = name(controller) else { return }
                var parent = controller.parent
                while let ancestor = parent, token(of: ancestor) == nil { parent = ancestor.parent }
                let token = screens.enter(name, in: parent.flatMap { self.token(of: $0) })
                visits[ObjectIdentifier(controller)] = Visit(controller: controller, token: token)
            }

            mutating func didDisappear(_ controller: UIViewController) {
                guard let visit = visits.removeValue(forKey: ObjectIdentifier(controller)) else { return }
                screens?.leave(visit.token)
            }

            /// Leaves a view controller that was released while it was visible. Another one can get its identifier.
            private mutating func leaveReleased() {
                for (id, visit) in visits where visit.controller == nil {
                    visits[id] = nil
                    screens?.leave(visit.token)
                }
            }
        }

        static let shared = ViewControllerObservation()

        private var observers: [Observer] = []

        private init() {
            #if canImport(ObjectiveC)
                replaceImplementation(of: #selector(UIViewController.viewDidAppear(_:))) { self.didAppear($0) }
                replaceImplementation(of: #selector(UIViewController.viewDidDisappear(_:))) { self.didDisappear($0) }
            #endif
        }

        func add(_ screens: Screens, _ name: @escaping @MainActor (UIViewController) -> String?) {
            if let index = observers.firstIndex(where: { $0.screens === screens }) {
                observers[index].name = name
            } else {
                observers.append(Observer(screens: screens, name: name))
            }
        }

        func didAppear(_ controller: UIViewController) { update { $0.didAppear(controller) } }

        func didDisappear(_ controller: UIViewController) { update { $0.didDisappear(controller) } }

        /// Changes the list of observers. The host's closures may add an observer, so the list isn't accessed while a
        /// closure runs.
        private func update(_ body: (inout Observer) -> Void) {
            observers.removeAll { $0.screens == nil }
            for index in observers.indices {
                var observer = observers[index]
                body(&observer)
                observers[index].visits = observer.visits
            }
        }

        #if canImport(ObjectiveC)
            private func replaceImplementation(
                of selector: Selector, _ body: @escaping @MainActor (UIViewController) -> Void
            ) {
                guard let method = class_getInstanceMethod(UIViewController.self, selector) else { return }
                typealias Implementation = @convention(c) (UIViewController, Selector, ObjCBool) -> Void
                let original = unsafeBitCast(method_getImplementation(method), to: Implementation.self)
                let replacement: @convention(block) (UIViewController, ObjCBool) -> Void = { controller, isAnimated in
                    original(controller, selector, isAnimated)
                    MainActor.assumeIsolated { body(controller) }
                }
                method_setImplementation(method, imp_implementationWithBlock(replacement))
            }
        #endif
    }
#endif
