public import Sluice

/// Drops events that repeat an earlier one, such as those of a button that was pressed twice.
///
/// ```swift
/// let pipeline = try Pipeline {
///     Deduplication(within: .seconds(2))
///     …
/// }
/// ```
///
/// Two events are equal if they have the same name, user ids and properties, in any order. Their ids and times don't
/// count. The filter compares hashes of 64 bits. Names are compared by their characters, and ids and other values by
/// their bytes, as receivers do. List the filter above stages that add properties which change with every event.
///
/// Repeated events are dropped as ``Sluice/DropReason/duplicate``.
public final class Deduplication: Processor {
    /// The number of distinct events that it remembers.
    static let capacity = 1_024

    private struct State {
        var lastSeen: [Int: Duration] = [:]
        /// The keys of ``lastSeen`` by age, in a ring.
        var order: [Int] = []
        var next = 0
    }

    /// Connects this plugin to its pipelines.
    public let context = PluginContext()
    private let window: Duration
    private let state = Locked(State())

    /// Creates a filter.
    ///
    /// - Parameter window: The time, by the continuous clock, in which an equal event is a duplicate. It begins with
    ///   the first event, and a duplicate doesn't extend it. It must be positive.
    public init(within window: Duration) {
        self.window = window
    }

    /// Checks the window.
    ///
    /// - Throws: ``Sluice/SluiceError/Code/invalidArgument`` if the window is not positive.
    public func prepare() throws {
        try SluiceError.require(
            window > .zero, "a window of \(window) finds no duplicates: choose a longer one")
    }

    /// Drops the event if it repeats an earlier one.
    public func process(_ event: inout Event) -> Disposition {
        let hash = Deduplication.hash(of: event)
        let now = context.time.continuousTime()
        let isDuplicate = state.withLock { state in
            let seen = state.lastSeen[hash]
            if let seen, now - seen < window { return true }
            if seen == nil, state.order.count < Deduplication.capacity {
                state.order.append(hash)
            } else if seen == nil {
                state.lastSeen[state.order[state.next]] = nil
                state.order[state.next] = hash
                state.next = (state.next + 1) % Deduplication.capacity
            }
            state.lastSeen[hash] = now
            return false
        }
        return isDuplicate ? .drop(.duplicate) : .keep
    }

    /// A hash of this process.
    private static func hash(of event: Event) -> Int {
        var hasher = Hasher()
        hasher.combine(event.name)
        for id in [event.distinctID, event.anonymousID, event.loginID] { hasher.add(id.map { .string($0) } ?? .null) }
        hasher.add(.object(event.properties))
        return hasher.finalize()
    }
}

extension Hasher {
    /// Names are equal if their characters are, and values if their bytes are.
    // A number for each kind, so that an empty text, list and object differ.
    fileprivate mutating func add(_ value: PropertyValue) {
        switch value {
        case .string(var text):
            combine(1)
            text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
            combine(text.utf8.count)
        case .array(let array):
            combine(2)
            for element in array { add(element) }
            combine(array.count)
        case .object(let object):
            // A sum, because the order of properties doesn't count.
            var sum = 3
            object.forEachPair { name, value in
                var pair = Hasher()
                pair.combine(copy name)
                pair.add(copy value)
                sum &+= pair.finalize()
            }
            combine(sum)
        case .int, .double, .bool, .date, .null: combine(value)
        }
    }
}
