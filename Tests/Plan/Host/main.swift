// Reads events from standard input, one line of JSON each, and prints for each line which properties differ from the plan:
// the places of violations and of unknown properties, as JSON.
//
//     PlanHost PLAN <EVENTS

import Foundation
import SluicePlan

guard CommandLine.arguments.count == 2 else { preconditionFailure("usage: see above") }
let path = CommandLine.arguments[1]
let plan = try TrackingPlan(json: [UInt8](Data(contentsOf: URL(fileURLWithPath: path))), file: path)
while let line = readLine() {
    guard let object = try PropertyValue(json: Array(line.utf8)).object, let name = object["event"]?.string,
        let properties = object["properties"]?.object
    else { preconditionFailure("no event: \(line)") }
    let violations = plan.violations(of: Event(name: name, properties: properties))
    func places(_ isUnknown: Bool) -> PropertyValue {
        let places = Set(violations.filter { $0.isUnknown == isUnknown }.map(\.property))
        return .array(PropertyArray(places.sorted().map { .string($0) }))
    }
    var writer = JSONWriter()
    writer.value(["violations": places(false), "unknown": places(true)])
    print(String(decoding: writer.bytes, as: UTF8.self))
}
