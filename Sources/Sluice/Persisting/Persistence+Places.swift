extension Persistence.Place {
    /// See ``Persistence/CustomPlace``.
    var keepsDevicePart: Bool {
        if case .custom(let place) = self { place.keepsDevicePart } else { false }
    }

    var isBound: Bool {
        if case .custom(let place) = self { place.device != nil } else { false }
    }

    /// Whether other processes may write to it, and their changes can be seen.
    var isShared: Bool {
        switch self {
        case .directory: true
        case .custom(let place): place.isShared
        }
    }

    /// The id of this device; nil if it is unknown, or if the place isn't bound to a device.
    var device: String? {
        if case .custom(let place) = self { place.device?() } else { nil }
    }

    func name(_ item: String) -> String {
        switch self {
        case .directory(let directory): "\(directory)/\(item).json"
        case .custom(let place): "\(item) in \(place.name)"
        }
    }

    func read(_ item: String) throws(SluiceError) -> [UInt8]? {
        switch self {
        case .directory(let directory): try file(item, in: directory).read()
        case .custom(let place): try attempt("read", item) { try place.read(item) }
        }
    }

    /// Returns the bytes of a file, and leaves temporary files alone. Returns nil for other places, and for a file that
    /// is missing or can't be read now.
    func peek(_ item: String) -> [UInt8]? {
        guard case .directory(let directory) = self else { return nil }
        do throws(SluiceError) {
            return try file(item, in: directory).read(removingAbandonedFiles: false)
        } catch {
            // The next change reads it too, and can throw.
            return nil
        }
    }

    /// Takes the lock of a file, until the result is released. See ``StateFile/lock()``.
    func lock(_ item: String) throws(SluiceError) -> OpenFile? {
        guard case .directory(let directory) = self else { return nil }
        return try file(item, in: directory).lock()
    }

    func write(_ item: String, _ bytes: [UInt8]) throws(SluiceError) {
        switch self {
        case .directory(let directory): try file(item, in: directory).write(bytes)
        case .custom(let place): try attempt("written", item) { try place.write(item, bytes) }
        }
    }

    /// Removes an item if it is there.
    func remove(_ item: String) throws(SluiceError) {
        switch self {
        case .directory(let directory): try file(item, in: directory).remove()
        case .custom(let place):
            try attempt("removed", item) {
                if let remove = place.remove { return try remove(item) }
                if try place.read(item)?.isEmpty == false { try place.write(item, []) }
            }
        }
    }

    func unknownDevice(_ item: String) -> SluiceError {
        SluiceError(
            .storageUnavailable,
            "\(name(item)) can't be read: it is unknown whether this device wrote it. Try again after the first unlock")
    }

    /// `identity.json` for `identity`, and `identity.json.corrupt` for `identity.corrupt`.
    private func file(_ item: String, in directory: String) -> StateFile {
        let parts = item.split(separator: ".", maxSplits: 1)
        return StateFile(([parts[0], "json"] + parts.dropFirst()).joined(separator: "."), in: directory)
    }

    private func attempt<Result>(
        _ verb: String, _ item: String, _ body: () throws -> Result
    ) throws(SluiceError) -> Result {
        do {
            return try body()
        } catch {
            if let error = error as? SluiceError { throw error }
            throw SluiceError(
                .storageUnavailable, "\(name(item)) can't be \(verb): try again, or choose another place", cause: error)
        }
    }
}
