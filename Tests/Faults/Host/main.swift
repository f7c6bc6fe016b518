// A process that uses the store, and that faults can be made to happen to. `Tests/Faults/run` starts it.
//
//     FaultHost run DIRECTORY [OPTION…] [COMMAND…]    one life; see Settings and Life
//     FaultHost damage DIRECTORY KIND FIRST END STEP  damages a segment in many ways, and reads each; see Damage

import Sluice

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "run":
    do {
        var life = try Life(Settings(arguments.dropFirst()))
        await life.run()
    } catch {
        System.note("\(error)")
        Recorder().record("= failed {}")
    }
case "damage":
    Damage(arguments.dropFirst()).run()
default:
    System.fail("run or damage?")
}
