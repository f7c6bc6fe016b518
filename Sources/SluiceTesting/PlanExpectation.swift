public import Sluice
public import SluicePlanModel

/// Checks that all events that a test has tracked conform to a tracking plan.
///
/// ```swift
/// import SluicePlan
///
/// let plan = try TrackingPlan(json: Array(#"{"plan": "shop", "version": 1, "events": {}}"#.utf8))
/// let store = RecordingStore()
/// let pipeline = try Pipeline {
///     store
///     NullTransport()
/// }
/// pipeline.track("$AppStart")
/// try expect(store, conformsTo: plan)
/// ```
///
/// Events and properties whose names begin with `$` belong to plugins, and conform unless the plan lists them. Personal data
/// also conforms if a `PlanCheck` has hashed or removed it: see `TrackingPlan.violations(ofStored:)`.
///
/// - Parameters:
///   - recorder: The store of the pipeline.
///   - plan: The plan. Events and properties that it doesn't have are violations too.
/// - Throws: ``Sluice/SluiceError/Code/brokenContract`` with each violation once and the number of its events.
public func expect(_ recorder: RecordingStore, conformsTo plan: TrackingPlan) throws(SluiceError) {
    var counts: [String: Int] = [:]
    for event in recorder.events {
        for violation in Set(plan.violations(ofStored: event).map(\.description)) { counts[violation, default: 0] += 1 }
    }
    let list = counts.keys.sorted().map { "\n    \($0) (events: \(counts[$0] ?? 0))" }.joined()
    try require(counts.isEmpty, "the events don't conform to the plan \(plan.name), version \(plan.version):\(list)")
}
