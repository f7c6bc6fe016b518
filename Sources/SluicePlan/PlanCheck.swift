public import Sluice
public import SluicePlanModel

/// Compares each event with a tracking plan, and counts, drops or sets aside the events that differ.
///
/// ```swift
/// let plan = try TrackingPlan(json: Array(#"{"plan": "shop", "version": 1, "events": {}}"#.utf8))
/// let pipeline = try Pipeline {
///     PlanCheck(plan, unknown: .drop, violations: .count)
///     MemoryStore()
///     NullTransport()
/// }
/// ```
///
/// List it above the stages that add properties of their own, because it checks the properties that it sees. Events and
/// properties whose names begin with `$` belong to plugins, and are never unknown.
///
/// ## Counting
///
/// The ledger counts a kept event in `sanitized`, once for each property that differs. It counts a dropped event in `dropped`,
/// once, under the first difference that drops it. Both use the property's place, such as ``Sluice/Sanitization/plan(_:)`` of
/// `"Purchase.amount"`. Unknown properties count as `"Purchase.*"`, and unknown events as `"*"`, because the number of their
/// names has no limit. A diagnostic reports each difference once, with its name and the reason, but without the value. After
/// 100 differences, no more are reported.
///
/// ## Setting aside
///
/// With ``Action/reject``, an event that differs is stored with the plan's version and the reasons in the property
/// `$plan_violation`. List a ``PlanGate`` as the transport: it turns these events into dead letters.
///
/// ## Personal data
///
/// Where the plan says `"personal": "drop"`, the stage removes the property. With `"hash"`, it replaces the string with its
/// hash. A value that can't be hashed, because it is no string, is removed. The stage applies these rules to each event of the
/// plan, even if the event is dropped or set aside afterwards. It counts the event as ``Sluice/Sanitization/personalData``.
public struct PlanCheck: Processor {
    /// The consequence of a difference.
    public enum Action: Sendable, Hashable {
        /// The event continues, and the difference is counted.
        case count
        /// The unknown property is removed. For any other difference, the event is dropped.
        case drop
        /// The event becomes a dead letter: see ``PlanGate``.
        case reject
    }

    /// Connects this plugin to its pipeline.
    public let context = PluginContext()
    private let plan: TrackingPlan
    private let unknown: Action
    private let violations: Action
    private let hash: @Sendable (String) -> String
    private let reported = Locked<Set<String>>([])

    private static let maximumReports = 100
    private static let maximumReasons = 10
    /// The property that says why an event is set aside.
    static let violationName = "$plan_violation"
    /// The beginning of this property's value. If the version isn't the one of the gate's plan, the gate checks the event once
    /// more.
    static func mark(of plan: TrackingPlan) -> String { "version \(plan.version) (" }
    /// The end of this property's value. Without it, reasons are missing: there were too many, or a stage has cut the value.
    static let end = ")"

    /// Creates a stage.
    ///
    /// ```swift
    /// let check = PlanCheck(plan, unknown: .reject, violations: .reject)
    /// ```
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - unknown: The consequence for events and properties that the plan doesn't have.
    ///   - violations: The consequence for missing properties, and for values that break a rule.
    ///   - hash: Returns the replacement for a string with `"personal": "hash"`. If it is nil, the string's SHA-256 is used, as
    ///     64 hexadecimal digits. Anyone can compute it for a list of known strings, such as telephone numbers. Pass a function
    ///     with a secret key for these. It is called inside `track`, on the caller's thread, and must not wait.
    public init(
        _ plan: TrackingPlan, unknown: Action = .count, violations: Action = .count,
        hash: (@Sendable (String) -> String)? = nil
    ) {
        self.plan = plan
        self.unknown = unknown
        self.violations = violations
        self.hash = hash ?? { sha256(Array($0.utf8)).hexadecimal }
    }

    /// Compares the event with the plan.
    public func process(_ event: inout Event) -> Disposition {
        guard let entry = plan.event(named: event.name) else {
            if event.name.utf8.first == UInt8(ascii: "$") { return .keep }
            return act(on: plan.violations(of: event), &event)
        }
        let findings = entry.findings(in: event.properties)
        if findings.isEmpty, !entry.rule.changesValues { return .keep }
        let removesUnknown = unknown == .drop && findings.contains { $0.isUnknown }
        if removesUnknown || entry.rule.changesValues {
            if let properties = rewritten(event.properties, entry.rule, &event) { event.properties = properties }
        }
        if findings.isEmpty { return .keep }
        return act(on: findings.map { PlanViolation(event: event.name, $0) }, &event)
    }

    // Not inlined, because most events conform.
    @inline(never)
    private func act(on found: [PlanViolation], _ event: inout Event) -> Disposition {
        for violation in found { report(violation) }
        // A removed property doesn't end its event.
        let dropping = found.first { $0.isUnknown ? unknown == .drop && $0.property.isEmpty : violations == .drop }
        if let dropping { return .drop(.plan(dropping.place)) }
        for violation in found { event.report(.plan(violation.place)) }
        let rejecting = found.filter { ($0.isUnknown ? unknown : violations) == .reject }
        if !rejecting.isEmpty {
            let reasons = rejecting.prefix(PlanCheck.maximumReasons).map(\.description).joined(separator: "; ")
            let end = rejecting.count > PlanCheck.maximumReasons ? "; …" : PlanCheck.end
            event.properties[PlanCheck.violationName] = .string(PlanCheck.mark(of: plan) + reasons + end)
        }
        return .keep
    }

    private func report(_ violation: PlanViolation) {
        let message = "\(violation)"
        let isNew = reported.withLock { $0.count < PlanCheck.maximumReports && $0.insert(message).inserted }
        if isNew { context.report("\(message) (reported once)") }
    }

    // MARK: Personal data and unknown properties

    /// Returns the properties that remain after the plan and the action for unknown ones are applied; nil without a change.
    private func rewritten(_ properties: Properties, _ rule: ValueRule, _ event: inout Event) -> Properties? {
        var isChanged = false
        var pairs: [(String, PropertyValue)] = []
        for property in properties {
            guard let own = rule.property(named: property.name)?.rule else {
                let isKept = unknown != .drop || property.name.utf8.first == UInt8(ascii: "$")
                if isKept { pairs.append((property.name, property.value)) } else { isChanged = true }
                continue
            }
            guard let value = rewritten(property.value, own, &event) else {
                pairs.append((property.name, property.value))
                continue
            }
            isChanged = true
            if case .some(let value) = value { pairs.append((property.name, value)) }
        }
        return isChanged ? properties.replacingAll(by: pairs) : nil
    }

    /// Returns nil without a change, and `.some(nil)` for a value that must not be stored.
    private func rewritten(_ value: PropertyValue, _ rule: ValueRule, _ event: inout Event) -> PropertyValue?? {
        if rule.personal == .drop || rule.personal == .hash {
            event.report(.personalData)
            guard rule.personal == .hash, case .string(let string) = value else { return .some(nil) }
            return .string(hash(string))
        }
        switch value {
        case .object(let object) where rule.kind == .object && !rule.properties.isEmpty:
            return rewritten(object, rule, &event).map { .object($0) }
        case .array(let array) where rule.kind == .array:
            guard let items = rule.items else { return nil }
            let elements = array.map { rewritten($0, items, &event) }
            if elements.allSatisfy({ $0 == nil }) { return nil }
            // An element that can't be hashed is null, so the others keep their places.
            return .array(PropertyArray(zip(array, elements).map { old, new in new.map { $0 ?? .null } ?? old }))
        // The value has another type than in the plan, and can contain the personal data that the plan expects inside it.
        default: return rule.changesValues ? .some(nil) : nil
        }
    }
}

extension PlanViolation {
    /// The place at which the ledger counts it. Names that the plan doesn't have are replaced, because they have no bound.
    fileprivate var place: String {
        if !isUnknown { return "\(event).\(property)" }
        return property.isEmpty ? "*" : "\(event).*"
    }
}

extension Sanitization {
    /// The event differs from its tracking plan: `PlanCheck`.
    ///
    /// ```swift
    /// let wrongAmounts = pipeline.ledger.sanitized[.plan("Purchase.amount")] ?? 0
    /// ```
    ///
    /// - Parameter place: The event and the property, or `Purchase.*` for unknown properties, or `*` for unknown events.
    /// - Returns: The sanitization that the ledger counts.
    public static func plan(_ place: String) -> Sanitization { Sanitization(rawValue: "plan: \(place)") }

    /// A property was hashed or removed, because the tracking plan says that it is personal: `PlanCheck`.
    public static let personalData = Sanitization(rawValue: "personalData")
}

extension DropReason {
    /// The event differs from its tracking plan: `PlanCheck`.
    ///
    /// ```swift
    /// let unknownEvents = pipeline.ledger.dropped[.plan("*")] ?? 0
    /// ```
    ///
    /// - Parameter place: The event and the property, or `*` for unknown events.
    /// - Returns: The reason that the ledger counts.
    public static func plan(_ place: String) -> DropReason { DropReason(rawValue: "plan: \(place)") }
}
