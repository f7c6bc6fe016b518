/// A view of a test is a list of closures, which the test calls in the place of the system.
@MainActor @preconcurrency public protocol View {
    var actions: ViewActions { get }
}

@MainActor public struct ViewActions {
    /// A test calls these.
    public var appear: [() -> Void] = []
    public var disappear: [() -> Void] = []
    public init() {}
}

@MainActor @preconcurrency public protocol ViewModifier {
    associatedtype Body: View
    typealias Content = _ViewModifier_Content<Self>
    func body(content: Content) -> Body
}

public struct _ViewModifier_Content<Modifier: ViewModifier>: View {
    public let actions: ViewActions
}

public struct ModifiedContent: View {
    public let actions: ViewActions
}

extension View {
    public func modifier<T: ViewModifier>(_ modifier: T) -> some View {
        modifier.body(content: _ViewModifier_Content(actions: actions))
    }

    public func onAppear(perform action: (() -> Void)? = nil) -> some View {
        var actions = actions
        if let action { actions.appear.append(action) }
        return ModifiedContent(actions: actions)
    }

    public func onDisappear(perform action: (() -> Void)? = nil) -> some View {
        var actions = actions
        if let action { actions.disappear.append(action) }
        return ModifiedContent(actions: actions)
    }
}

public struct EmptyView: View {
    public let actions: ViewActions
    public init() { actions = ViewActions() }
}

public protocol EnvironmentKey {
    associatedtype Value
    static var defaultValue: Value { get }
}

public struct EnvironmentValues {
    /// A test sets this: the environment of all views.
    nonisolated(unsafe) public static var current = EnvironmentValues()

    private var values: [ObjectIdentifier: Any] = [:]

    public init() {}

    public subscript<K: EnvironmentKey>(key: K.Type) -> K.Value {
        get { values[ObjectIdentifier(key)] as? K.Value ?? K.defaultValue }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

@propertyWrapper public struct Environment<Value> {
    private let keyPath: KeyPath<EnvironmentValues, Value>

    public init(_ keyPath: KeyPath<EnvironmentValues, Value>) { self.keyPath = keyPath }

    public var wrappedValue: Value { EnvironmentValues.current[keyPath: keyPath] }
}

@propertyWrapper public struct State<Value> {
    private final class Box {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private let box: Box

    public init(wrappedValue: Value) { box = Box(wrappedValue) }

    public var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }
}
