public import Sluice

/// Lets a share of the users, or of the events, pass. All others are dropped as ``Sluice/DropReason/sampledOut``.
///
/// The choice is a stable hash: the same user is in the sample in every launch and on every device, and a user in a sample
/// of 10 % is also in one of 20 %. So two samplings in a row don't multiply.
///
/// To sample users, list it below `Identity`.
public struct Sampling: Processor {
    /// The unit of the sample.
    public enum Key: Sendable, Hashable {
        /// Users: either all events of a distinct id pass, or all are dropped. Without a distinct id, the event's id counts.
        case distinctID
        /// Events.
        case eventID
    }

    private let rate: Double
    private let key: Key

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - rate: The share that passes, from 0 to 1.
    ///   - key: The unit of the sample.
    public init(rate: Double, by key: Key = .distinctID) {
        self.rate = rate
        self.key = key
    }

    /// Checks the rate.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the rate is not from 0 to 1.
    public func prepare() throws {
        guard (0...1).contains(rate) else {
            throw SluiceError(.invalidArgument, "a rate of \(rate): choose one from 0 (no events) to 1 (all)")
        }
    }

    public func process(_ event: inout Event) -> Disposition {
        var hash = StableHash()
        if key == .distinctID, let id = event.distinctID {
            hash.add(id)
        } else {
            hash.add(event.id.high)
            hash.add(event.id.low)
        }
        return hash.fraction < rate ? .keep : .drop(.sampledOut)
    }
}
