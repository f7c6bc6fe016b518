import SluiceLibC

/// The number of trials of this package's randomized tests.
///
/// By default, a few trials run. With `SLUICE_TRIALS=full` in the environment, as many run as the documented figures are
/// based on.
package enum Trials {
    package static let isFull = getenv("SLUICE_TRIALS").map { String(cString: $0) } == "full"

    package static func count(full: Int, few: Int) -> Int { isFull ? full : few }

    /// Prints a figure for the documentation in a full run.
    package static func report(_ figure: @autoclosure () -> String) {
        if isFull { print(figure()) }
    }
}
