/// The objects or the places of a state that a pipeline has for itself, until it is shut down or released.
struct Claim: Sendable {
    enum Key: Hashable, Sendable {
        case object(ObjectIdentifier)
        case place(FilePath.Identity)
    }

    /// The claims of all living pipelines.
    private typealias All = Locked<[Claim]>

    // nonisolated(unsafe): CurrentProcess.childLock protects it.
    nonisolated(unsafe) private static var stored = (process: CreatingProcess(), all: All([]))

    private static var all: All {
        CurrentProcess.childLock.withLock { _ in
            if stored.process.isParent {
                // Never released: a thread that doesn't exist here may hold its lock. The pipelines stay with the parent, and their
                // objects with them. Without the lock, these are unknown.
                let objects = Unmanaged.passRetained(stored.all).takeUnretainedValue().withLockIfFree { all in
                    all.filter { $0.owner is StateGate }
                }
                stored = (CreatingProcess(), All(objects ?? []))
            }
            return stored.all
        }
    }

    /// The index of the key that has been claimed before, the claimed name in words, and the claim.
    typealias Conflict = (index: Int, place: String, claim: Claim)

    /// The keys with the names that they stand for, such as paths of files.
    let names: [(key: Key, name: String)]
    let owner: (any AnyObject & Sendable)?
    /// The gate below no other; nil for a state outside of pipelines, which has nothing for itself.
    let pipeline: ObjectIdentifier?
    /// The gate that decides about a state; nil if it is kept without consent.
    var gate: ObjectIdentifier?
    /// Whether others can make the same claim: objects of other pipelines, and objects behind the same gate.
    var isShared = false

    /// The keys of a state's names. A disk is asked, which can hang: call this without a lock.
    static func places(_ names: [String]) -> [(key: Key, name: String)] {
        names.flatMap { name in FilePath.identities(of: name).map { (.place($0), name) } }
    }

    /// Makes the claim, unless its owner has it already or there is a conflict.
    ///
    /// - Returns: Whether it is new, and the conflict with a claim that was made before.
    func make() -> (isNew: Bool, conflict: Conflict?) {
        Claim.all.withLock { all in
            if all.contains(where: { isSame($0) && names.contains(where: $0.has) }) { return (false, nil) }
            let others = all.filter(excludes)
            for (index, name) in names.enumerated() {
                guard let other = others.first(where: { $0.has(name) }) else { continue }
                let taken = other.names.first { $0.key == name.key }?.name ?? name.name
                return (true, (index, name.name == taken ? taken : "\(name.name), which is \(taken)", other))
            }
            if pipeline != nil { all.append(self) }
            return (true, nil)
        }
    }

    /// Ends the claims of a pipeline.
    static func end(of pipeline: StateGate) {
        let pipeline = ObjectIdentifier(pipeline)
        // Owners are released without the lock.
        _ = all.withLock { all in
            defer { all.removeAll { $0.pipeline == pipeline } }
            return all.filter { $0.pipeline == pipeline }
        }
    }

    private func has(_ name: (key: Key, name: String)) -> Bool { names.contains { $0.key == name.key } }

    private func isSame(_ other: Claim) -> Bool {
        owner === other.owner && pipeline == other.pipeline && gate == other.gate
    }

    private func excludes(_ other: Claim) -> Bool {
        !(isShared && other.isShared && (pipeline != other.pipeline || gate == other.gate))
    }
}
