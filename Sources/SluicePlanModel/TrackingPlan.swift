public import SluiceEvents

/// A tracking plan: the events that an app may track, with their properties. Its file is written in a subset of JSON Schema.
///
/// ```swift
/// let plan = try TrackingPlan(
///     json: Array(
///         #"""
///         {"plan": "shop", "version": 7, "events": {
///           "Purchase": {"description": "The order was paid.", "owner": "checkout",
///             "properties": {"sku": {"type": "string", "maxLength": 40}, "amount": {"type": "number", "minimum": 0}},
///             "required": ["sku", "amount"]}}}
///         """#.utf8))
/// ```
///
/// A plan is a value without I/O. You can use it from any thread. The page "Tracking plan" lists the keywords.
///
/// Names are compared by characters, as ``Sluice/Properties`` compares them. Events and properties whose names begin
/// with `$` belong to plugins. The plan may list them, but they are never unknown.
public struct TrackingPlan: Sendable {
    /// Who can use the types that are generated from the plan.
    package enum Access: String, Sendable {
        case `internal`, `package`, `public`
    }

    /// The plan's name.
    public let name: String
    /// The plan's version, at least 1. Events and properties refer to versions with `since`.
    public let version: Int
    package let access: Access
    /// In the order of the file.
    package let events: [EventPlan]
    private let table: EventTable

    package init(name: String, version: Int, access: Access, events: [EventPlan]) {
        self.name = name
        self.version = version
        self.access = access
        self.events = events
        table = EventTable(events)
    }

    /// The names of the events, in the order of the file.
    public var eventNames: [String] { events.map(\.name) }

    package func event(named name: String) -> EventPlan? { table.event(named: name) }

    /// Returns the differences between an event and the plan.
    ///
    /// ```swift
    /// let event = Event(name: "Purchase", properties: ["amount": -1])
    /// for violation in plan.violations(of: event) { print(violation) }
    /// ```
    ///
    /// - Parameter event: The event. Its name and its properties are checked.
    /// - Returns: The violations in the order of the properties, and then the missing properties in the order of the plan.
    ///   Empty if the event conforms.
    public func violations(of event: Event) -> [PlanViolation] { violations(of: event, isStored: false) }

    /// Returns the differences between the plan and an event of a store, in which personal data can be hashed or missing.
    ///
    /// Use this for events that a `PlanCheck` may have changed. Where the plan says `"personal": "hash"`, a string can have any
    /// length, because it can be a hash. A required property with `"personal": "drop"` can be missing. All other rules are those
    /// of ``violations(of:)``.
    ///
    /// ```swift
    /// let stored = Event(name: "Purchase", properties: ["amount": -1])
    /// for violation in plan.violations(ofStored: stored) { print(violation) }
    /// ```
    ///
    /// - Parameter event: The event, with or without changes of its personal data.
    /// - Returns: The violations, in the same order.
    public func violations(ofStored event: Event) -> [PlanViolation] { violations(of: event, isStored: true) }

    private func violations(of event: Event, isStored: Bool) -> [PlanViolation] {
        guard let plan = self.event(named: event.name) else {
            if event.name.utf8.first == UInt8(ascii: "$") { return [] }
            return [PlanViolation(event: event.name, property: "", reason: "isn't in the plan", isUnknown: true)]
        }
        let findings = plan.findings(in: event.properties, isStored: isStored)
        return findings.map { PlanViolation(event: event.name, $0) }
    }
}

/// One event of a plan.
package final class EventPlan: Sendable {
    package let name: String
    package let description: String
    /// The team that answers questions about the event.
    package let owner: String?
    /// The version of the plan that added the event.
    package let since: Int?
    /// The properties.
    package let rule: ValueRule
    private let quick: QuickCheck

    init(name: String, description: String, owner: String?, since: Int?, rule: ValueRule) {
        self.name = name
        self.description = description
        self.owner = owner
        self.since = since
        self.rule = rule
        quick = QuickCheck(rule.properties)
    }

    package func findings(in properties: Properties, isStored: Bool = false) -> [Finding] {
        if quick.proves(properties) { return [] }
        var findings: [Finding] = []
        rule.check(properties, isStored: isStored, &findings)
        return findings
    }
}

/// A difference between an event and its plan.
public struct PlanViolation: Sendable, Hashable, CustomStringConvertible {
    /// The event's name.
    public let event: String
    /// The property's name, such as `items[].sku` for a property of an object in an array. Empty for an event that the plan
    /// doesn't have.
    public let property: String
    /// The broken rule, such as `has more than 40 characters`. It never contains a value of the event.
    public let reason: String
    /// Whether the plan doesn't have the event, or the property.
    public let isUnknown: Bool

    /// The event, the property and the reason, such as `Purchase.sku is missing`.
    public var description: String { "\(event)\(property.isEmpty ? "" : ".")\(property) \(reason)" }
}

extension PlanViolation {
    package init(event: String, _ finding: Finding) {
        self.init(event: event, property: finding.path, reason: finding.reason, isUnknown: finding.isUnknown)
    }
}

/// A difference between the properties of an event and their rules.
package struct Finding: Sendable, Hashable {
    /// The names on the way to the property. An element of an array adds `[]`.
    package var path: String
    package let reason: String
    package let isUnknown: Bool
}

extension SluiceError.Code {
    /// A tracking plan is not valid JSON, has a keyword that isn't supported, or breaks another rule. The message has the file,
    /// the line, the column and the reason.
    public static let invalidPlan = SluiceError.Code(rawValue: "invalidPlan")
}
