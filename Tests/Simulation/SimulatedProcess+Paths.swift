import Sluice

/// The calls that change the entries of a directory.
extension SimulatedProcess {
    func removeFile(_ path: String) throws(FileError) {
        try perform(.removeFile) { disk throws(FileError) in
            guard let node = disk.node(path) else { throw .noSuchFile }
            guard case .file(let file)? = disk.nodes[node] else { throw .notPermitted }
            onRemoval(self, path, file, &disk)
            disk.remove(path)
        }
    }

    func removeDirectory(_ path: String) throws(FileError) {
        try perform(.removeFile) { disk throws(FileError) in
            guard let node = disk.node(path) else { throw .noSuchFile }
            guard case .directory(let directory)? = disk.nodes[node] else { throw .notADirectory }
            guard directory.entries.isEmpty else { throw .exists }
            disk.remove(path)
        }
    }

    func makeDirectory(_ path: String, mode: UInt32) throws(FileError) {
        try perform(.makeDirectory) { disk throws(FileError) in
            _ = try disk.make(.directory(.init()), at: path)
        }
    }

    func list(_ path: String) throws(FileError) -> [String] {
        try perform(.list) { disk throws(FileError) in
            guard let node = disk.node(path) else { throw .noSuchFile }
            guard case .directory(let directory)? = disk.nodes[node] else { throw .notADirectory }
            return directory.entries.keys.sorted()
        }
    }

    func rename(_ path: String, to newPath: String) throws(FileError) {
        try perform(.rename) { disk throws(FileError) in
            if let node = disk.node(path), case .file(let file)? = disk.nodes[node], newPath.hasSuffix(".spare") {
                onRemoval(self, path, file, &disk)
            }
            try disk.rename(path, to: newPath)
            if path.hasSuffix(".spare") { SimulatedProcess.reusedFiles.withLock { $0 += 1 } }
        }
    }

    func link(_ file: FileDescriptor, at path: String) throws(FileError) {
        try perform(.rename) { disk throws(FileError) in try disk.link(file, at: path) }
    }
}
