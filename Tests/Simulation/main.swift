// Deterministic simulation of the store and the delivery loop: real code on a disk, a network and a clock that are not.
//
//     swift run -c release Simulation [--seeds FIRST..<LAST] [--steps N] [--verbose]
//
// Every seed is a world of its own, the same in every run. What is found wrong is printed with its seed, and the exit
// status is 1.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

func fail(_ text: String) -> Never {
    print(text)
    exit(64)
}

var seeds: Range<UInt64> = 0..<2_000
var steps = 120
var isVerbose = false
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--seeds":
        let bounds = (arguments.popFirst() ?? "").split(separator: "..<").compactMap { UInt64($0) }
        guard bounds.count == 2, bounds[0] < bounds[1] else { fail("--seeds FIRST..<LAST") }
        seeds = bounds[0]..<bounds[1]
    case "--steps": steps = arguments.popFirst().flatMap { Int($0) } ?? { fail("--steps N") }()
    case "--verbose": isVerbose = true
    default: fail("no option \(argument)")
    }
}
guard SerialTasks.install() else { fail("this system's Swift runtime lets nobody order its tasks") }

var failed: [UInt64] = []
var total = (acknowledged: 0, delivered: 0, duplicates: 0, evicted: 0, expired: 0)
for seed in seeds {
    let world = World(seed: seed, isVerbose: isVerbose)
    for _ in 0..<steps { world.act() }
    world.finish()
    let sum = world.books.summary
    total = (
        total.acknowledged + sum.acknowledged, total.delivered + sum.delivered, total.duplicates + sum.duplicates,
        total.evicted + sum.evicted, total.expired + sum.expired
    )
    let violations = world.books.violations
    guard !violations.isEmpty else { continue }
    failed.append(seed)
    if failed.count <= 10 {
        print("seed \(seed): \(violations.count) violation(s)")
        for violation in violations.prefix(5) { print("  \(violation)") }
    }
}
print(
    "\(seeds.count) seeds: \(total.acknowledged) events acknowledged, \(total.delivered) delivered, "
        + "\(total.duplicates) of them again; \(total.evicted) evicted, \(total.expired) expired; "
        + "\(SimulatedProcess.reuses) files reused; \(failed.count) seeds failed")
exit(failed.isEmpty ? 0 : 1)
