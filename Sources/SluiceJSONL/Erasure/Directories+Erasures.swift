internal import Sluice

extension Directories {
    /// The directories with events of other routes.
    func directories(except routes: Set<String>) throws(FileError) -> [String] {
        var paths: [String] = []
        for name in try files.list(root.path).sorted() {
            guard let route = RouteName.route(ofDirectory: name), !routes.contains(route) else { continue }
            let path = "\(root.path)/\(name)"
            if attempt(try files.list(path), or: []).contains(where: { SegmentName($0) != nil }) { paths.append(path) }
        }
        return paths
    }

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
