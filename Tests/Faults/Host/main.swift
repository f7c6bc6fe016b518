// A process that uses the store, and in which faults can be provoked. `Tests/Faults/run` starts it.
//
//     FaultHost run DIRECTORY [OPTION…] [COMMAND…]    obeys commands; see Settings and HostProcess
//     FaultHost damage DIRECTORY KIND FIRST END STEP  reads a segment damaged in many ways; see Damage
//     FaultHost dlflip DIRECTORY SEED TRIALS          replays damaged dead letters; see DeadLetterDamage
//     FaultHost ids DIRECTORY track FIRST|drain       two events with one id; see DoubleIDs
//     FaultHost hang DIRECTORY                        uses a pipeline while the disk hangs; see HangingDisk
//     FaultHost identity DIRECTORY                    obeys commands; see SharedIdentity
//     FaultHost people …                              erases one of many people; see People
//     FaultHost routes DIRECTORY URL COUNT REPORT     sends events over HTTP and to the standard output; see Routes

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
case "routes":
    await Routes(arguments.dropFirst()).run()
case "ids":
    await DoubleIDs(arguments.dropFirst()).run()
case "hang":
    await HangingDisk(arguments.dropFirst()).run()
case "identity":
    var process = SharedIdentity(arguments.dropFirst())
    process.run()
case "people":
    await People(arguments.dropFirst()).run()
case "damage":
    Damage(arguments.dropFirst()).run()
case "dlflip":
    var damage = DeadLetterDamage(arguments.dropFirst())
    damage.run()
default:
    System.fail("run, damage, dlflip, ids, hang, identity, people or routes?")
}
