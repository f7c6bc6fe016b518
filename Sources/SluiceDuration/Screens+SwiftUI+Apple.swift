#if canImport(SwiftUI)
    public import Sluice
    public import SwiftUI

    extension EnvironmentValues {
        /// The screens that `trackScreen` enters and leaves. Set them once, at the root of your views:
        ///
        /// ```swift
        /// WindowGroup { RootView().environment(\.screens, screens) }
        /// ```
        ///
        /// Without them, `trackScreen` has no effect, as in a preview.
        public var screens: Screens? {
            get { self[ScreensKey.self] }
            set { self[ScreensKey.self] = newValue }
        }
    }

    private struct ScreensKey: EnvironmentKey {
        static let defaultValue: Screens? = nil
    }

    extension View {
        /// Tracks this view as a screen, while it is visible: `$AppViewScreen` when it appears, and `$AppPageLeave`
        /// when it disappears.
        ///
        /// ```swift
        /// ProductView(product)
        ///     .trackScreen("Product", ["sku": product.sku])
        /// ```
        ///
        /// Several views can be visible at a time, such as a sheet above its presenter. SwiftUI decides when a view
        /// appears: a `TabView` or a `NavigationStack` may keep a covered view. A changed name or changed properties
        /// count from the next appearance on.
        ///
        /// - Parameters:
        ///   - name: The screen's name.
        ///   - properties: The properties of the `$AppViewScreen`.
        /// - Returns: The view, tracked with the environment's `screens`.
        public func trackScreen(_ name: String, _ properties: PropertyLiteral = [:]) -> some View {
            modifier(ScreenTracking(name: name, properties: properties))
        }

        /// Tracks this view as a screen with these properties, while it is visible.
        @_disfavoredOverload
        @_documentation(visibility: internal)
        public func trackScreen(_ name: String, _ properties: some PropertyList) -> some View {
            trackScreen(name, properties.literal)
        }
    }

    private struct ScreenTracking: ViewModifier {
        /// The token of a visible view. This is an object, because a change inside of it doesn't render the view.
        @MainActor final class Visit {
            var token: DurationToken?
        }

        let name: String
        let properties: PropertyLiteral
        @Environment(\.screens) private var screens
        @State private var visit = Visit()

        init(name: String, properties: PropertyLiteral) {
            self.name = name
            self.properties = properties
        }

        func body(content: Content) -> some View {
            content
                .onAppear {
                    // SwiftUI can call this twice for one appearance.
                    if visit.token == nil { visit.token = screens?.enter(name, properties) }
                }
                .onDisappear {
                    if let token = visit.token { screens?.leave(token) }
                    visit.token = nil
                }
        }
    }
#endif
