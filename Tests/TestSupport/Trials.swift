import SluiceLibC

/// The number of trials of this package's randomized tests.
///
/// By default, a few trials run. With `SLUICE_TRIALS=full` in the environment, as many run as the documented figures are
/// based on. With `SLUICE_SCENARIOS`, only the scenarios run whose names contain its value.
package enum Trials {
    package static let isFull = variable("SLUICE_TRIALS") == "full"
    package static let scenarios = variable("SLUICE_SCENARIOS")

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    package static func count(full: Int, few: Int) -> Int { isFull ? full : few }

    /// Prints a figure for the documentation in a full run.
    package static func report(_ figure: @autoclosure () -> String) {
        if isFull { print(figure()) }
    }
}
