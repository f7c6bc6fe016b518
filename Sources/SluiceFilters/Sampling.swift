public import Sluice

/// Keeps a share of the users, or of the events, and drops the others as ``Sluice/DropReason/sampledOut``.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Identity(persistedIn: .file(stateDirectory))
///     Sampling(rate: 0.1)
///     …
/// }
/// ```
///
/// A stable hash decides. A user in a sample of 10 % is also in one of 20 %, so the rates of two samplings in a row
/// don't multiply.
///
/// To sample users, list the filter below `Identity`. It hashes the anonymous id, which the identity keeps for all
/// launches, and which a login doesn't change. So all events of a user pass or none: the ones before and after a login,
/// and the `$SignUp` that joins them. A user on two devices has two anonymous ids, and so two chances. A new anonymous
/// id, as after a reset, gets a new decision.
///
/// On a server, pass the anonymous id before and after the login, or only a distinct id.
public struct Sampling: Processor {
    private let rate: Double
    private let isByEvent: Bool

    /// Samples users, by the anonymous id of their events. An event without one is sampled by its distinct id, and
    /// without that by its own id.
    ///
    /// - Parameter rate: The share that passes, from 0 to 1.
    public init(rate: Double) {
        self.rate = rate
        isByEvent = false
    }

    /// Samples single events.
    ///
    /// ```swift
    /// let sampling = Sampling(eventRate: 0.01)  // One event of a hundred.
    /// ```
    ///
    /// - Parameter eventRate: The share that passes, from 0 to 1.
    public init(eventRate: Double) {
        rate = eventRate
        isByEvent = true
    }

    /// Checks the rate.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the rate is not from 0 to 1.
    public func prepare() throws {
        try SluiceError.require(
            (0...1).contains(rate), "a rate of \(rate): choose one from 0 (no events) to 1 (all)")
    }

    /// Drops the event if it is not in the sample.
    public func process(_ event: inout Event) -> Disposition {
        // The same in every process, on every platform and in every version.
        var hash = FNV1a()
        if !isByEvent, let id = event.anonymousID ?? event.distinctID {
            hash.add(id.utf8)
        } else {
            withUnsafeBytes(of: (event.id.high.bigEndian, event.id.low.bigEndian)) { hash.add($0) }
        }
        // Mixed, because the high bits of FNV alone are far from uniform for short inputs. From 0 up to, but not including, 1.
        let fraction = Double(hash.value.mixed >> 11) / Double(1 << 53 as UInt64)
        return fraction < rate ? .keep : .drop(.sampledOut)
    }
}
