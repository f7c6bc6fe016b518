package import SluiceEvents
import SluiceLibC

/// Operations on paths.
package enum FilePath {
    #if canImport(Darwin)
        /// Apple's file systems find a name by its characters, whatever their bytes are.
        package typealias Identity = String
    #else
        package typealias Identity = [UInt8]
    #endif

    /// The directory of a path: `/` for `/a`, and `.` for `a`.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// All directories above a path, the nearest first.
    package static func ancestors(of path: String) -> [String] {
        let parent = parent(of: path)
        return parent == path ? [] : [parent] + ancestors(of: parent)
    }

    /// Any two absolute paths to a file have one in common, even if they lead through symbolic links, or through directories that
    /// don't exist yet, or are created between two calls. Other texts are their own identity.
    static func identities(of path: String, followingLinks links: Int = 40) -> [Identity] {
        let files = SystemFileSystem()
        for ancestor in path.hasPrefix("/") ? ancestors(of: path) : [] {
            // With the dot, it follows a symbolic link. A directory that is missing or may not be looked into doesn't count.
            guard let status = attempt(try files.status(of: "\(ancestor)/."), or: nil) else { continue }
            let rest = path.utf8.dropFirst(ancestor.utf8.count).split(separator: UInt8(ascii: "/"))
                .map { String(Substring($0)) }.filter { $0 != "." }
            var parts: [String]?
            if rest.count > 1, links > 0, let target = attempt(try files.target(of: "\(ancestor)/\(rest[0])"), or: nil)
            {
                // A link to nothing, which can exist later.
                parts = [target.hasPrefix("/") ? "" : ancestor, target] + rest.dropFirst()
            } else if let up = rest.firstIndex(of: ".."), up > 0,
                attempt(try files.status(of: "\(ancestor)/\(rest[0])"), or: nil) == nil
            {
                // `..` undoes a directory that is missing. What remains may exist.
                parts = [ancestor] + rest[..<(up - 1)] + rest[(up + 1)...]
            }
            if let parts { return identities(of: parts.joined(separator: "/"), followingLinks: links - 1) }
            let directory = realpath(ancestor, nil)
            defer { free(directory) }
            return ["\(status.device) \(status.inode)", directory.map { String(cString: $0) } ?? ancestor]
                .map { Identity("\($0)/\(rest.joined(separator: "/"))".utf8) }
        }
        return [Identity(path.utf8)]
    }

    /// Checks a path from ``absolute(_:in:)``.
    ///
    /// - Throws: ``SluiceError/Code/invalidArgument`` with the name of the argument, the path and advice.
    package static func require(_ path: String, _ argument: String) throws(SluiceError) {
        let isRelative = !path.hasPrefix("/")
        let problem = "is relative, and the working directory can't be found: use an absolute path"
        guard let flaw = flaw(of: path) ?? (isRelative ? problem : nil) else { return }
        throw SluiceError(.invalidArgument, "\(argument) \"\(path)\" \(flaw)")
    }

    /// Why a path is invalid, and how to correct it; nil if it is valid.
    ///
    /// A path that a shell, Foundation or a browser would read in another way isn't meant as the name of a folder. As in a
    /// reference of RFC 3986 (section 4.2), `./` before a name makes it one.
    private static func flaw(of path: String) -> String? {
        let scalars = path.unicodeScalars
        guard let first = scalars.first, let last = scalars.last, !path.isBlank else {
            return "is blank: give a path"
        }
        // The system would ignore everything behind it.
        if path.utf8.contains(0) { return "has a NUL in it: give a path without" }
        let invisible: [Unicode.GeneralCategory] = [.control, .format, .lineSeparator, .paragraphSeparator]
        if [first, last].contains(where: { invisible.contains($0.properties.generalCategory) }) {
            return "begins or ends with a newline or another invisible character: remove it"
        }
        if ["~", "$", "%"].contains(first) {
            return "begins with \(first), which is not expanded here: give the whole path, or ./ before a folder's name"
        }
        let scheme = path.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || ["+", "-", "."].contains($0)) }
        if first.properties.isAlphabetic, path[scheme.endIndex...].first == ":" {
            return "is a URL: give a path, or ./ before a folder's name"
        }
        return nil
    }

    /// Returns the absolute path of one that a host passes, without slashes at the end, which would follow a symbolic link. It stays
    /// valid if the working directory changes. A path that is invalid or can't be resolved stays as it is: ``require(_:_:)`` throws.
    package static func absolute(_ path: String, in fileSystem: some FileSystem) -> String {
        let isRelative = !path.hasPrefix("/")
        let directory = isRelative ? attempt(try fileSystem.currentDirectory(), or: nil) : ""
        guard let directory, flaw(of: path) == nil else { return path }
        var path = isRelative ? "\(directory)/\(path)" : path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
