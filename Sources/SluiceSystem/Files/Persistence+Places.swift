package import SluiceEvents

extension Persistence.Place {
    /// The place without its encryption.
    package var plain: Persistence.Place { if case .encrypted(let place, _) = self { place.plain } else { self } }

    private var customPlace: Persistence.CustomPlace? { if case .custom(let place) = plain { place } else { nil } }

    /// See ``Sluice/Persistence/CustomPlace``.
    package var keepsDevicePart: Bool { customPlace?.keepsDevicePart ?? false }

    package var isBound: Bool { customPlace?.device != nil }

    /// Whether other processes may write to it, and their changes can be seen.
    package var isShared: Bool { customPlace?.isShared ?? true }

    /// The id of this device; nil if it is unknown, or if the place isn't bound to a device.
    package var device: String? { customPlace?.device?() }

    package func name(_ item: String) -> String {
        switch self {
        case .directory(let directory): "\(directory)/\(item).json"
        case .custom(let place): "\(item) in \(place.name)"
        case .encrypted(let place, _): place.name(item)
        }
    }

    package func read(_ item: String, removingAbandonedFiles: Bool = true) throws(SluiceError) -> [UInt8]? {
        switch self {
        case .directory(let directory):
            try file(item, in: directory).read(removingAbandonedFiles: removingAbandonedFiles)
        case .custom(let place):
            try closure("read", item) {
                let bytes = try place.read(item)
                // Without `remove`, this is what ``remove(_:)`` leaves.
                return place.remove == nil && bytes?.isEmpty == true ? nil : bytes
            }
        case .encrypted(let place, let encryption):
            try place.read(item, removingAbandonedFiles: removingAbandonedFiles)
                .map { bytes throws(SluiceError) in try decrypted(bytes, item, encryption) }
        }
    }

    /// Returns the bytes of a file, and leaves temporary files alone. Returns nil for other places, and for a file that
    /// is missing or can't be read now.
    package func peek(_ item: String) -> [UInt8]? {
        guard case .directory = plain else { return nil }
        // The next change reads it too, and can throw.
        return attempt(try read(item, removingAbandonedFiles: false), or: nil)
    }

    /// Takes the lock of a file, until the result is released. See ``StateFile/lock()``.
    package func lock(_ item: String) throws(SluiceError) -> OpenFile? {
        guard case .directory(let directory) = plain else { return nil }
        return try file(item, in: directory).lock()
    }

    package func write(_ item: String, _ bytes: [UInt8]) throws(SluiceError) {
        switch self {
        case .directory(let directory): try file(item, in: directory).write(bytes)
        case .custom(let place): try closure("written", item) { try place.write(item, bytes) }
        case .encrypted(let place, let encryption):
            try encryption.validate()
            try place.write(item, Array(try encryption.encrypted(bytes[...])))
        }
    }

    /// Removes an item if it is there.
    package func remove(_ item: String) throws(SluiceError) {
        switch self {
        case .directory(let directory): try file(item, in: directory).remove()
        case .custom(let place):
            try closure("removed", item) {
                if let remove = place.remove { return try remove(item) }
                if try place.read(item)?.isEmpty == false { try place.write(item, []) }
            }
        case .encrypted(let place, _): try place.remove(item)
        }
    }

    /// Keeps damaged bytes under the name of the item with `.corrupt` at the end.
    ///
    /// - Returns: A message that reports it.
    package func keepAside(_ bytes: [UInt8], _ item: String) throws(SluiceError) -> String {
        try write("\(item).corrupt", bytes)
        return "\(name(item)) is damaged. It was kept aside as .corrupt; restore a backup if you have one"
    }

    package func unknownDevice(_ item: String) -> SluiceError {
        SluiceError(
            .storageUnavailable,
            "\(name(item)) can't be read: it is unknown whether this device wrote it. Try again after the first unlock")
    }

    /// `identity.json` for `identity`, and `identity.json.corrupt` for `identity.corrupt`.
    private func file(_ item: String, in directory: String) throws(SluiceError) -> StateFile {
        try FilePath.require(directory, "the directory of a state")
        let parts = item.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let isName = parts[0].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-" || $0 == "_" }
        try SluiceError.require(
            isName && !parts[0].isEmpty, "a state named \"\(item)\": use letters, digits and hyphens")
        return StateFile(([parts[0], "json"] + parts.dropFirst()).joined(separator: "."), in: directory)
    }

    private func decrypted(
        _ bytes: [UInt8], _ item: String, _ encryption: LineEncryption
    ) throws(SluiceError) -> [UInt8] {
        try closure("decrypted", item) { Array(try LineEncryption.decrypted(bytes[...], encryption)) }
    }

    private func closure<Result>(
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
