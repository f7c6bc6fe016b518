/// An event as a type of your own. Its stored properties become the event's properties.
///
/// ```swift
/// struct Purchase: TrackedEvent {
///     static let eventName = "Purchase"
///     let sku: String
///     let amount: Double
///     var coupon: String?
/// }
/// pipeline.track(Purchase(sku: "A-7", amount: 12.5))
/// ```
///
/// ## Conforming
/// - Return the event's name from ``TypedEvent/eventName``.
/// - Keep the `Encodable` conformance that Swift derives, or choose the names with `CodingKeys`. A property that is nil is
///   left out. See ``Properties/init(encoding:)`` for the types that can be encoded.
/// - Implement ``TypedEvent/eventProperties`` if you want to write the properties by hand:
///
/// ```swift
/// struct Refund: TrackedEvent {
///     static let eventName = "Refund"
///     let sku: String
///     var eventProperties: Properties { Properties(["sku": sku]) }
/// }
/// ```
public protocol TrackedEvent: TypedEvent, Encodable {}

extension TrackedEvent {
    /// The encoded value. If a value in it can't be encoded, the others, and `$encoding_error` with the first error.
    ///
    /// - Throws: ``SluiceError/Code/unencodable`` if the event isn't an object.
    public var eventProperties: Properties {
        get throws {
            var (properties, failure) = try Properties.encoding(self)
            if let failure { properties.noteEncodingError(failure.message) }
            return properties
        }
    }
}

extension Properties {
    /// Adds the error of a typed event, and counts it.
    fileprivate mutating func noteEncodingError(_ message: String) {
        self[encodingErrorName] = .string(message)
        storage.noteUnencodable()
    }
}

/// The property that says which part of a typed event could not be encoded.
package let encodingErrorName = "$encoding_error"

/// Something that tracks events: a `Pipeline` of Sluice, or a stand-in for it in your tests.
///
/// Use it where your code should not depend on the pipeline:
///
/// ```swift
/// final class Checkout {
///     let analytics: any EventTracking
///     init(analytics: any EventTracking) { self.analytics = analytics }
///
///     func pay(_ amount: Double) { analytics.track("Purchase", ["amount": amount]) }
/// }
/// ```
///
/// ## Conforming
/// - Implement ``track(_:_:priority:id:configure:)``. The other methods call it.
/// - Call `configure` with the event before you use it: it can set the event's time and its user ids.
/// - Return the event's id. Create one if you are given nil.
/// - Never throw, and return quickly: the method is called on the thread of your user interface too.
public protocol EventTracking: Sendable {
    /// Tracks an event.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties.
    ///   - priority: The event's priority.
    ///   - id: The event's id; nil for a new one.
    ///   - configure: Changes the event before it is processed.
    /// - Returns: The event's id.
    @discardableResult
    func track(
        _ name: String, _ properties: Properties, priority: Event.Priority, id: EventID?,
        configure: (inout Event) -> Void
    ) -> EventID

    /// Stores the events that `body` tracks together, which costs less for each of them. By default, runs `body`.
    ///
    /// ```swift
    /// pipeline.trackTogether {
    ///     for item in order.items { pipeline.track("Item", ["sku": item.sku]) }
    /// }
    /// ```
    ///
    /// - Parameter body: Tracks the events on the thread that it is called on.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    @discardableResult
    func trackTogether<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result
}

extension EventTracking {
    /// Runs `body`.
    @discardableResult
    public func trackTogether<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body()
    }

    /// Tracks events of a type of your own, and stores them together. See ``trackTogether(_:)``.
    ///
    /// ```swift
    /// pipeline.track(contentsOf: order.items.map { Purchase(sku: $0.sku, amount: $0.price) })
    /// ```
    ///
    /// - Parameters:
    ///   - events: The events, in their order.
    ///   - priority: The priority of each event.
    /// - Returns: The ids of the events, in the same order.
    @discardableResult
    public func track<Events: Sequence>(
        contentsOf events: Events, priority: Event.Priority = .normal
    ) -> [EventID] where Events.Element: TypedEvent {
        trackTogether { events.map { track($0, priority: priority) } }
    }

    // Without `configure`: otherwise this would itself be an implementation of the requirement, and call itself.
    /// Tracks an event. See ``track(_:_:priority:id:configure:)``.
    ///
    /// ```swift
    /// pipeline.track("Purchase", ["sku": "A-7"], priority: .critical)
    /// ```
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties.
    ///   - priority: The event's priority.
    ///   - id: The event's id; nil for a new one.
    /// - Returns: The event's id.
    @_disfavoredOverload
    @discardableResult
    @inlinable
    public func track(
        _ name: String, _ properties: Properties = [:], priority: Event.Priority = .normal, id: EventID? = nil
    ) -> EventID {
        track(name, properties, priority: priority, id: id, configure: { _ in })
    }

    /// Tracks an event with a literal that has variables in it. See ``track(_:_:priority:id:configure:)``.
    ///
    /// ```swift
    /// let sku = "A-7"
    /// pipeline.track("Purchase", ["sku": sku, "length": sku.count])
    /// ```
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties.
    ///   - priority: The event's priority.
    ///   - id: The event's id; nil for a new one.
    ///   - configure: Changes the event before the first processor sees it.
    /// - Returns: The event's id.
    @_disfavoredOverload
    @discardableResult
    @inlinable
    public func track(
        _ name: String, _ properties: PropertyLiteral, priority: Event.Priority = .normal, id: EventID? = nil,
        configure: (inout Event) -> Void = { _ in }
    ) -> EventID {
        track(name, properties.properties, priority: priority, id: id, configure: configure)
    }

    // AnyHashable for the same reason as in Properties.init.
    /// Tracks an event with the values of a dictionary. See ``Pipeline/track(_:_:priority:id:configure:)``.
    ///
    /// ```swift
    /// let properties = ["Category": "Music", "FileName": "favorite.avi"]
    /// pipeline.track("Video clicked", properties)
    /// ```
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - properties: The event's properties by their names. They are sorted by name.
    ///   - priority: The event's priority.
    ///   - id: The event's id; nil for a new one.
    ///   - configure: Changes the event before the first processor sees it.
    /// - Returns: The event's id.
    @_disfavoredOverload
    @discardableResult
    public func track(
        _ name: String, _ properties: [AnyHashable: some PropertyConvertible], priority: Event.Priority = .normal,
        id: EventID? = nil, configure: (inout Event) -> Void = { _ in }
    ) -> EventID {
        track(name, Properties(properties), priority: priority, id: id, configure: configure)
    }

    /// Tracks an event of a type of your own.
    ///
    /// ```swift
    /// pipeline.track(Purchase(sku: "A-7", amount: 12.5)) { $0.loginID = "user-42" }
    /// ```
    ///
    /// This method never throws. If a value of the event can't be encoded, it is left out, and the event gets the property
    /// `$encoding_error`, which names the type and the place in it. In an array, the value becomes null. The pipeline counts
    /// the event as ``Sanitization/unencodable``, and reports each error once, as `Diagnostic.Kind.encoding`.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - priority: The event's priority.
    ///   - id: The event's id; nil for a new one.
    ///   - configure: Changes the event before the first processor sees it.
    /// - Returns: The event's id.
    @discardableResult
    public func track<Typed: TypedEvent>(
        _ event: Typed, priority: Event.Priority = .normal, id: EventID? = nil,
        configure: (inout Event) -> Void = { _ in }
    ) -> EventID {
        do {
            return track(Typed.eventName, try event.eventProperties, priority: priority, id: id, configure: configure)
        } catch {
            // The text of any other error can contain values of the event.
            let message = (error as? SluiceError)?.message ?? "\(Typed.self) threw an error of type \(type(of: error))"
            var properties: Properties = [:]
            properties.noteEncodingError(message)
            return track(Typed.eventName, properties, priority: priority, id: id, configure: configure)
        }
    }
}
