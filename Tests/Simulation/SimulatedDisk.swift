import Sluice
import SluiceTesting

/// A disk in memory that behaves as badly as disks may: what was not synchronised can be gone after a loss of power, in
/// whole or in part, or be zeros; names that were not synchronised can be gone or come back.
///
/// The root is `/`. It is used from one thread.
struct SimulatedDisk {
    enum Change {
        case append([UInt8])
        case truncate(Int)
        case overwrite([UInt8], at: Int)
    }

    /// Replaces bytes. The file gets longer if necessary.
    static func overwrite(_ contents: inout [UInt8], with bytes: [UInt8], at offset: Int) {
        let end = offset + bytes.count
        if contents.count < end { contents += repeatElement(0, count: end - contents.count) }
        contents.replaceSubrange(offset..<end, with: bytes)
    }

    struct File {
        var bytes: [UInt8] = []
        /// What a loss of power cannot take.
        var safe: [UInt8] = []
        var unsafeChanges: [Change] = []
        /// The length of the lines that other programs have appended.
        var foreignBytes = 0
        /// A synchronisation has failed: the system has dropped the pages, and later ones succeed without effect.
        var isForsaken = false
        /// Names that lead to it.
        var links = 0
    }

    struct Directory {
        var entries: [String: Int] = [:]
        var safeEntries: [String: Int] = [:]
        var unsafeChanges: [(name: String, node: Int?)] = []
    }

    enum Node {
        case file(File)
        case directory(Directory)
    }

    struct Descriptor {
        let node: Int
        let path: String
        let process: Int32
        let isWritable: Bool
        /// Whether its status was looked at since the last write, as a store does when it closes a segment.
        var isLookedAt = false
    }

    var nodes: [Int: Node] = [0: .directory(Directory())]
    var descriptors: [CInt: Descriptor] = [:]
    /// The descriptors that hold locks, by node.
    var lockers: [Int: CInt] = [:]
    /// Paths that were looked for, until a name changes.
    private var known: [String: Int] = [:]
    private var lastNode = 0
    /// How often its machine was started.
    private(set) var starts = 1
    private var lastDescriptor: CInt = 2

    // MARK: Names

    mutating func node(_ path: String) -> Int? {
        if let known = known[path] { return known }
        let found = look(for: path)
        known[path] = found
        return found
    }

    private func look(for path: String) -> Int? {
        var node = 0
        for part in path.split(separator: "/") where part != "." {
            guard case .directory(let directory)? = nodes[node], let next = directory.entries[String(part)] else {
                return nil
            }
            node = next
        }
        return node
    }

    static func split(_ path: String) -> (parent: String, name: String) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    mutating func make(_ node: Node, at path: String) throws(FileError) -> Int {
        let (parent, name) = SimulatedDisk.split(path)
        guard let directory = self.node(parent) else { throw .noSuchFile }
        guard case .directory(let contents)? = nodes[directory] else { throw .notADirectory }
        guard contents.entries[name] == nil else { throw .exists }
        lastNode += 1
        nodes[lastNode] = node
        enter(lastNode, as: name, in: directory)
        return lastNode
    }

    mutating func remove(_ path: String) {
        let (parent, name) = SimulatedDisk.split(path)
        if let directory = node(parent) { enter(nil, as: name, in: directory) }
    }

    private mutating func enter(_ node: Int?, as name: String, in directory: Int) {
        if node == nil { known = [:] }
        var previous: Int?
        change(directory: directory) { contents in
            previous = contents.entries[name]
            contents.entries[name] = node
            contents.unsafeChanges.append((name, node))
        }
        if let previous { change(file: previous) { $0.links -= 1 } }
        if let node { change(file: node) { $0.links += 1 } }
    }

    mutating func rename(_ path: String, to newPath: String) throws(FileError) {
        guard let node = node(path) else { throw .noSuchFile }
        let (parent, name) = SimulatedDisk.split(newPath)
        guard let directory = self.node(parent) else { throw .noSuchFile }
        // An erasure replaces a file by one of the same length.
        if let replaced = self.node(newPath), case .file(let file)? = nodes[replaced] {
            change(file: node) { $0.foreignBytes = file.foreignBytes }
        }
        remove(path)
        enter(node, as: name, in: directory)
    }

    /// Gives an open file another name.
    mutating func link(_ file: FileDescriptor, at path: String) throws(FileError) {
        guard let id = descriptors[file.rawValue]?.node, case .file(let contents)? = nodes[id], contents.links > 0
        else {
            throw .noSuchFile
        }
        let (parent, name) = SimulatedDisk.split(path)
        guard let directory = node(parent) else { throw .noSuchFile }
        guard node(path) == nil else { throw .exists }
        enter(id, as: name, in: directory)
    }

    /// The paths of all files that can be reached by name, in order.
    mutating func files(below path: String = "") -> [(path: String, file: File)] {
        guard let node = node(path), case .directory(let directory)? = nodes[node] else { return [] }
        return directory.entries.keys.sorted().flatMap { name -> [(path: String, file: File)] in
            let child = "\(path)/\(name)"
            guard let id = directory.entries[name], let node = nodes[id] else { return [] }
            switch node {
            case .file(let file): return [(child, file)]
            case .directory: return files(below: child)
            }
        }
    }

    /// The paths of all directories, each before those in it.
    mutating func directories(below path: String) -> [String] {
        guard let node = node(path), case .directory(let directory)? = nodes[node] else { return [] }
        return [path] + directory.entries.keys.sorted().flatMap { directories(below: "\(path)/\($0)") }
    }

    // MARK: Changes

    mutating func change(file node: Int, _ body: (inout File) -> Void) {
        guard case .file(var file)? = nodes[node] else { return }
        // So that the bytes are changed where they are.
        nodes[node] = nil
        body(&file)
        nodes[node] = .file(file)
    }

    mutating func change(directory node: Int, _ body: (inout Directory) -> Void) {
        guard case .directory(var directory)? = nodes[node] else { return }
        nodes[node] = nil
        body(&directory)
        nodes[node] = .directory(directory)
    }

    mutating func open(_ node: Int, _ path: String, by process: Int32, isWritable: Bool) -> FileDescriptor {
        lastDescriptor += 1
        descriptors[lastDescriptor] = Descriptor(
            node: node, path: path, process: process, isWritable: isWritable)
        return FileDescriptor(rawValue: lastDescriptor)
    }

    mutating func close(_ descriptor: FileDescriptor) {
        unlock(descriptor)
        descriptors[descriptor.rawValue] = nil
    }

    mutating func unlock(_ descriptor: FileDescriptor) {
        guard let node = descriptors[descriptor.rawValue]?.node, lockers[node] == descriptor.rawValue else { return }
        lockers[node] = nil
    }

    mutating func synchronize(_ node: Int) {
        switch nodes[node] {
        case .file:
            change(file: node) { file in
                if !file.isForsaken { file.safe = file.bytes }
                file.unsafeChanges = []
            }
        case .directory:
            change(directory: node) { directory in
                directory.safeEntries = directory.entries
                directory.unsafeChanges = []
            }
        case nil: break
        }
    }

    // MARK: What happens to it

    /// The end of a process: its descriptors are closed, and its locks with them. All that it has written stays.
    mutating func processEnded(_ process: Int32) {
        for (number, descriptor) in descriptors where descriptor.process == process {
            close(FileDescriptor(rawValue: number))
        }
    }

    /// All that was not synchronised is kept up to some point, differently for every file and directory.
    mutating func losePower(_ random: inout SeededRandom) {
        starts += 1
        descriptors = [:]
        lockers = [:]
        known = [:]
        for id in nodes.keys.sorted() {
            switch nodes[id] {
            case .file:
                change(file: id) { $0.losePower(&random) }
            case .directory:
                change(directory: id) { directory in
                    let kept = Int.random(in: 0...directory.unsafeChanges.count, using: &random)
                    for change in directory.unsafeChanges.prefix(kept) {
                        directory.safeEntries[change.name] = change.node
                    }
                    directory.entries = directory.safeEntries
                    directory.unsafeChanges = []
                }
            case nil: break
            }
        }
        countLinks()
    }

    private mutating func countLinks() {
        for id in nodes.keys { change(file: id) { $0.links = 0 } }
        for case .directory(let directory) in nodes.values {
            for id in directory.entries.values { change(file: id) { $0.links += 1 } }
        }
    }
}

extension SimulatedDisk.Change {
    /// Marks are single bytes.
    fileprivate var isOverwriting: Bool {
        if case .overwrite(let bytes, _) = self { bytes.count > 1 } else { false }
    }
}

extension SimulatedDisk.File {
    /// Pages are written in any order, each as it was at any time.
    private func mixPages(of result: inout [UInt8], _ states: [[UInt8]], _ random: inout SeededRandom) {
        let page = [64, 512, 4_096].randomElement(using: &random) ?? 512
        for start in stride(from: 0, to: result.count, by: page) {
            let state = states.randomElement(using: &random) ?? []
            for index in start..<min(start + page, result.count) {
                result[index] = index < state.count ? state[index] : 0
            }
        }
    }

    fileprivate mutating func losePower(_ random: inout SeededRandom) {
        var result = safe
        var states = [safe]
        let kept = isForsaken ? 0 : Int.random(in: 0...unsafeChanges.count, using: &random)
        for (index, change) in unsafeChanges.enumerated() where !isForsaken {
            var state = states[index]
            switch change {
            case .append(let bytes): state += bytes
            case .truncate(let size): state = Array(state.prefix(size))
            case .overwrite(let bytes, let offset): SimulatedDisk.overwrite(&state, with: bytes, at: offset)
            }
            states.append(state)
            if index < kept { result = state }
        }
        if kept < unsafeChanges.count, case .append(let bytes) = unsafeChanges[kept] {
            result += bytes.prefix(Int.random(in: 0...bytes.count, using: &random))
        }
        if unsafeChanges.contains(where: \.isOverwriting) { mixPages(of: &result, states, &random) }
        // The size was written, the contents were not.
        if result.count > safe.count, Bool.random(using: &random) {
            let start = Int.random(in: safe.count...result.count, using: &random)
            for index in start..<result.count { result[index] = 0 }
        }
        bytes = result
        safe = result
        unsafeChanges = []
        isForsaken = false
    }
}
