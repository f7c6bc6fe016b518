import Sluice

extension PropertyValue {
    /// The indices of events that an answer lists, however it nests them in arrays and objects; nil if there is anything
    /// among them that is not the index of one of `count` events, as nothing such a list says can then be trusted.
    func eventIndices(below count: Int) -> Set<Int>? {
        switch self {
        case .int(let index):
            return (0..<Int64(count)).contains(index) ? [Int(index)] : nil
        case .array(let array):
            return PropertyValue.union(array, count)
        case .object(let object):
            return PropertyValue.union(object.map(\.value), count)
        default:
            return nil
        }
    }

    private static func union(_ values: some Sequence<PropertyValue>, _ count: Int) -> Set<Int>? {
        var result: Set<Int> = []
        for value in values {
            guard let indices = value.eventIndices(below: count) else { return nil }
            result.formUnion(indices)
        }
        return result
    }
}
