public import Sluice

/// Lets a share of the users, or of the events, pass. All others are dropped as ``Sluice/DropReason/sampledOut``.
///
/// The choice is a stable hash: the same user is in the sample in every launch and on every device, and a user in a sample
/// of 10 % is also in one of 20 %. So two samplings in a row don't multiply.
///
/// To sample users, list it below `Identity`.
public struct Sampling: Processor {
    private let rate: Double
    private let isByEvent: Bool

    /// Samples users: either all events of a distinct id pass, or all are dropped. An event without a distinct id is sampled
    /// by its own id.
    ///
    /// - Parameter rate: The share that passes, from 0 to 1.
    public init(rate: Double) {
        self.rate = rate
        isByEvent = false
    }

    /// Samples single events.
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
        guard (0...1).contains(rate) else {
            throw SluiceError(.invalidArgument, "a rate of \(rate): choose one from 0 (no events) to 1 (all)")
        }
    }

    /// Drops the event if it is not in the sample.
    public func process(_ event: inout Event) -> Disposition {
        var hash = StableHash()
        if !isByEvent, let id = event.distinctID {
            hash.add(id)
        } else {
            hash.add(event.id.high)
            hash.add(event.id.low)
        }
        return hash.fraction < rate ? .keep : .drop(.sampledOut)
    }
}
