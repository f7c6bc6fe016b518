import Sluice

extension PropertyValue {
    /// The indices of events in this value, which may nest them in arrays and objects. Nil if it contains anything
    /// other than indices below `count`, because such a list can't be trusted.
    func eventIndices(below count: Int) -> Set<Int>? {
        let values: [PropertyValue]
        switch self {
        case .int(let index): return (0..<Int64(count)).contains(index) ? [Int(index)] : nil
        case .array(let array): values = Array(array)
        case .object(let object): values = object.map(\.value)
        default: return nil
        }
        let indices = values.map { $0.eventIndices(below: count) }
        return indices.contains(nil) ? nil : Set(indices.compactMap(\.self).joined())
    }
}

extension Batch {
    /// Returns the index of the event of each record of a request, by the number of records of an event.
    func recordedEvents(_ count: (EventLine) throws -> Int) -> [Int] {
        // A line that can't be read was not sent.
        events.indices.flatMap { (index) throws(Never) in
            Array(repeating: index, count: attempt(try count(events[index]), or: 1))
        }
    }
}
