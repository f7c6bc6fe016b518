public import Sluice

/// Lets a share of the users, or of the events, pass. The rest is dropped as ``Sluice/DropReason/sampledOut``.
///
/// The choice is a stable hash: the same user is in the sample on every launch and every device, and who is in a sample
/// of 10 % is also in one of 20 %. So two samplings in a row do not multiply.
///
/// By ``Key/distinctID`` it has to stand below the stage that sets the ids.
public struct Sampling: Processor {
    /// What is drawn.
    public enum Key: Sendable, Hashable {
        /// Users: all events of a distinct id or none. An event without one is drawn by its own id.
        case distinctID
        /// Single events.
        case eventID
    }

    private let rate: Double
    private let key: Key

    /// - Parameters:
    ///   - rate: the share that passes, from 0 to 1. With any other rate, the pipeline throws
    ///     ``Sluice/SluiceError/Code/invalidArgument`` when it is built.
    ///   - key: what is drawn.
    public init(rate: Double, by key: Key = .distinctID) {
        self.rate = rate
        self.key = key
    }

    /// Checks the rate.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the rate is not from 0 to 1.
    public func prepare() throws {
        guard (0...1).contains(rate) else {
            throw SluiceError(.invalidArgument, "a sampling rate of \(rate): choose one from 0, none, to 1, all")
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
