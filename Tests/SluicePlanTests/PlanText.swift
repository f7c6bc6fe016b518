import SluicePlan

/// Reads a plan with one event, `Purchase`, that has these properties.
func shop(_ properties: String, required: String = "[]", version: Int = 3) throws -> TrackingPlan {
    let event = #"{"description": "Paid.", "properties": {\#(properties)}, "required": \#(required)}"#
    let json = #"{"plan": "shop", "version": \#(version), "events": {"Purchase": \#(event)}}"#
    return try TrackingPlan(json: Array(json.utf8))
}

/// The violations of a purchase with these properties.
func violations(_ plan: TrackingPlan, _ properties: Properties) -> [String] {
    plan.violations(of: Event(name: "Purchase", properties: properties)).map(\.description)
}
