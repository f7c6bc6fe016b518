public import Sluice
public import SluicePlanModel

/// A transport that turns the events that ``PlanCheck`` has set aside into dead letters, and passes all others to your
/// transport.
///
/// ```swift
/// let plan = try TrackingPlan(json: Array(#"{"plan": "shop", "version": 1, "events": {}}"#.utf8))
/// let pipeline = try Pipeline {
///     PlanCheck(plan, unknown: .reject, violations: .reject)
///     MemoryStore()
///     PlanGate(plan, StdoutTransport())
/// }
/// ```
///
/// `Pipeline.deadLetters()` lists these dead letters with the reasons, such as `Purchase.amount is less than 0`. They don't
/// count as refusals of the receiver. When a plan with a later `version` allows them, replay them: the gate checks the
/// properties that differed once more, and sends the event without the property `$plan_violation`. The length of a hashed
/// string, and a property that the plan drops, can't be checked any more. Their rules count as kept.
///
/// Differences of other properties don't count, because stages below ``PlanCheck`` can add properties. If an event had more
/// than ten differences, or a stage has shortened the list of them, all of its properties are checked.
public struct PlanGate<Base: Transport>: Transport, TransportGate {
    private let plan: TrackingPlan
    package let base: Base
    private static var mark: [UInt8] { Array("\"\(PlanCheck.violationName)\":\"".utf8) }

    /// Creates a gate in front of a transport.
    ///
    /// - Parameters:
    ///   - plan: The plan of the ``PlanCheck`` in the same route.
    ///   - transport: The transport for all other events.
    public init(_ plan: TrackingPlan, _ transport: Base) {
        self.plan = plan
        base = transport
    }

    /// Opens your transport.
    public func open(_ observer: TransportObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        try base.open(observer, in: environment)
    }

    /// The largest batch of your transport.
    public var maximumBatchSize: BatchSize { base.maximumBatchSize }

    /// Returns the verdicts of your transport. If the batch has events that are set aside, it rejects only these. The route
    /// then sends the others immediately, in another call.
    public func send(_ batch: Batch) async throws -> Verdicts {
        let mark = Self.mark
        guard batch.events.contains(where: { $0.contains(mark) }) else { return try await base.send(batch) }
        let checked = batch.events.map { $0.contains(mark) ? check($0) : .success($0) }
        var lines: [EventLine] = []
        var reasons: [Verdict] = []
        for result in checked {
            switch result {
            case .success(let line):
                lines.append(line)
                reasons.append(.retry(after: .zero, reason: "other events of the batch break the tracking plan"))
            case .failure(let error): reasons.append(.unsendable(reason: error.message))
            }
        }
        if lines.count < batch.events.count { return .each(reasons) }
        return try await base.send(Batch(id: batch.id, events: lines, retryCount: batch.retryCount))
    }

    /// Returns the line without the mark if the plan allows the event now.
    private func check(_ line: EventLine) -> Result<EventLine, SluiceError> {
        Result { () throws(SluiceError) in
            var event = try line.event()
            // Only a property of an object has the name.
            guard let reason = event.properties[PlanCheck.violationName]?.string else { return line }
            let own = PlanCheck.mark(of: plan).utf8
            let isComplete = reason.hasSuffix(PlanCheck.end)
            if reason.utf8.starts(with: own) {
                let list = reason.utf8.dropFirst(own.count).dropLast(isComplete ? 1 : 0)
                throw SluiceError(.invalidPlan, String(decoding: list, as: UTF8.self))
            }
            event.properties[PlanCheck.violationName] = nil
            // The check has not seen the other violations: stages below it have added or changed properties.
            let left = plan.violations(ofStored: event).filter { !isComplete || $0.isListed(in: reason) }
            guard left.isEmpty else {
                throw SluiceError(.invalidPlan, left.map(\.description).joined(separator: "; "))
            }
            return try EventLine(event)
        }
    }
}

extension PlanViolation {
    /// Whether reasons that an earlier plan gave are about the same property, or about a value inside it.
    fileprivate func isListed(in reasons: String) -> Bool {
        if isUnknown { return reasons.utf8.contains(description.utf8) }
        let name = property.utf8.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "[") }
        let place = "\(event).\(Substring(name))"
        // After the property's name comes the reason, or the rest of the path to a value inside it.
        return [" ", ".", "["].contains { reasons.utf8.contains((place + $0).utf8) }
    }
}

extension String.UTF8View {
    fileprivate func contains(_ text: String.UTF8View) -> Bool { indices.contains { self[$0...].starts(with: text) } }
}

extension EventLine {
    /// Whether the bytes contain the name with its quotes, which can't occur within a JSON string.
    fileprivate func contains(_ mark: [UInt8]) -> Bool {
        var rest = bytes
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            if dollar > bytes.startIndex, bytes[(dollar - 1)...].starts(with: mark) { return true }
            rest = rest[(dollar + 1)...]
        }
        return false
    }
}
