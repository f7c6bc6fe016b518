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
do {
    let bytes: [UInt8]
    do {
        bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: arguments[1])))
    } catch {
        FileHandle.standardError.write(Data("\(arguments[1]):1:1: error: the plan can't be read: \(error)\n".utf8))
        exit(1)
    }
    let plan = try TrackingPlan(locating: bytes, arguments[1])
    let file = SwiftFile(plan, module: arguments[3], embedded: arguments.count == 5 ? bytes : nil)
    try Data(file.text.utf8).write(to: URL(fileURLWithPath: arguments[2]), options: .atomic)
} catch {
    // A mistake in the plan has its place, in the form that compilers use.
    let message = error is PlanError ? "\(error)" : "\(arguments[2]): error: \(error)"
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(1)
}
