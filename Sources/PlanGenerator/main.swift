// Generates Swift types from a tracking plan. The build plugin calls it for each file whose name ends in "plan.json":
//
//     PlanGenerator PLAN OUTPUT MODULE [--embed]
//
// MODULE is the module of Sluice that the types import. With --embed, the output contains the plan itself too.

import Foundation
import SluicePlanModel

let arguments = CommandLine.arguments
guard arguments.count == 4 || arguments.count == 5 && arguments[4] == "--embed" else {
    FileHandle.standardError.write(Data("usage: PlanGenerator PLAN OUTPUT MODULE [--embed]\n".utf8))
    exit(64)
}
// A mistake has its place, in the form that compilers use.
var place = "\(arguments[1]):1:1: error: the plan can't be read: "
do {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: arguments[1])))
    place = ""
    let plan = try TrackingPlan(locating: bytes, arguments[1])
    let file = SwiftFile(plan, module: arguments[3], embedded: arguments.count == 5 ? bytes : nil)
    place = "\(arguments[2]): error: "
    try Data(file.text.utf8).write(to: URL(fileURLWithPath: arguments[2]), options: .atomic)
} catch {
    FileHandle.standardError.write(Data("\(place)\(error)\n".utf8))
    exit(1)
}
