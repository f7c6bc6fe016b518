internal import Sluice

extension Directories {
    /// Remembers an erasure of a directory, to repeat it when its process has ended or its files can be read.
    ///
    /// - Returns: false if this store uses the directory.
    mutating func eraseLater(in path: String, where isMatch: @escaping @Sendable (EventLine) -> Bool) -> Bool {
        guard claimed[path] == nil else { return false }
        lateErasures[path, default: []].append(isMatch)
        return true
    }

    /// The erasures to try now.
    var dueErasures: [String: [@Sendable (EventLine) -> Bool]] {
        lateErasures.filter { path, _ in
            failedErasures[path].map { continuousTime - $0 >= Directories.failedErasureInterval } ?? true
        }
    }

    /// Forgets the first erasures of a directory if they are complete.
    ///
    /// - Returns: whether to report that they aren't: once for each directory.
    mutating func erasedLate(_ count: Int, in path: String, isComplete: Bool) -> Bool {
        guard isComplete else { return failedErasures.updateValue(continuousTime, forKey: path) == nil }
        failedErasures[path] = nil
        lateErasures[path]?.removeFirst(count)
        if lateErasures[path]?.isEmpty == true { lateErasures[path] = nil }
        return false
    }
}
