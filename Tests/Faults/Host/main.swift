// A process that uses the store, and in which faults can be provoked. `Tests/Faults/run` starts it.
//
//     FaultHost run DIRECTORY [OPTION…] [COMMAND…]    obeys commands; see Settings and HostProcess
//     FaultHost damage DIRECTORY KIND FIRST END STEP  reads a segment damaged in many ways; see Damage

import Sluice

let arguments = CommandLine.arguments.dropFirst()
switch arguments.first {
case "run":
    do {
        var process = try HostProcess(Settings(arguments.dropFirst()))
        await process.run()
    } catch {
        System.note("\(error)")
        Recorder().record("= failed {}")
    }
case "damage":
    Damage(arguments.dropFirst()).run()
default:
    System.fail("run or damage?")
}
