public import Sluice

/// Drops what was tracked just before in the same words, as ``Sluice/DropReason/duplicate``: a button that was pressed
/// twice, or a view that reports itself twice.
///
/// Events are the same if name, ids and properties are, whatever their order; their own ids and times do not count. It
/// compares hashes of 64 bits. What stands above it counts: let it stand above stages that add what always changes.
public final class Deduplication: Processor {
    /// Of so many events it remembers that they came.
    static let capacity = 1_024

    private struct State {
        var lastSeen: [UInt64: Duration] = [:]
        /// The keys of ``lastSeen`` by age, in a ring.
        var order: [UInt64] = []
        var next = 0
    }

    private let window: Duration
    private let time: any TimeSource
    private let state = Locked(State())

    /// - Parameters:
    ///   - window: how long after an event the same one is a duplicate, by the continuous clock. A duplicate does not
    ///     begin it anew. With a window that is not positive, the pipeline throws
    ///     ``Sluice/SluiceError/Code/invalidArgument`` when it is built.
    ///   - time: the clock.
    public init(within window: Duration, time: any TimeSource = SystemTime()) {
        self.window = window
        self.time = time
    }

    public func attach(to outlet: EventOutlet) throws {
        guard window > .zero else {
            throw SluiceError(
                .invalidArgument, "a Deduplication within \(window) finds no duplicate: choose a longer time")
        }
    }

    public func process(_ event: inout Event) -> Disposition {
        if Consent.isLettingGo { return .keep }
        let hash = Deduplication.hash(of: event)
        let now = time.continuousTime()
        let isDuplicate = state.withLock { state in
            if let seen = state.lastSeen[hash] {
                if now - seen < window { return true }
                state.lastSeen[hash] = now
                return false
            }
            if state.order.count < Deduplication.capacity {
                state.order.append(hash)
            } else {
                state.lastSeen[state.order[state.next]] = nil
                state.order[state.next] = hash
                state.next = (state.next + 1) % Deduplication.capacity
            }
            state.lastSeen[hash] = now
            return false
        }
        return isDuplicate ? .drop(.duplicate) : .keep
    }

    private static func hash(of event: Event) -> UInt64 {
        var hash = StableHash()
        for text in [event.name, event.distinctID, event.anonymousID, event.loginID] {
            // Told apart from the empty text.
            hash.add(text == nil ? 0 : 1 as UInt8)
            hash.add(text ?? "")
            hash.add(0xFF as UInt8)
        }
        // A sum, because the order of properties says nothing.
        var sum: UInt64 = 0
        event.properties.forEachPair { name, value in
            var pair = StableHash()
            pair.add(copy name)
            pair.add(0xFF as UInt8)
            pair.add(copy value)
            sum &+= pair.value
        }
        hash.add(sum)
        return hash.value
    }
}

extension StableHash {
    fileprivate mutating func add(_ value: PropertyValue) {
        switch value {
        case .string(let string):
            add(1 as UInt8)
            add(string)
        case .int(let int):
            add(2 as UInt8)
            add(UInt64(bitPattern: int))
        case .double(let double):
            add(3 as UInt8)
            add(double.bitPattern)
        case .bool(let bool):
            add(bool ? 4 : 5 as UInt8)
        case .date(let date):
            add(6 as UInt8)
            add(UInt64(bitPattern: date.milliseconds))
        case .null:
            add(7 as UInt8)
        case .array, .object:
            var writer = JSONWriter()
            writer.value(value)
            for byte in writer.bytes { add(byte) }
        }
    }
}
