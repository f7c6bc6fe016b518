/// The objects or the places of a state that a pipeline has for itself, until it is shut down or released.
struct Claim: Sendable {
    enum Key: Hashable, Sendable {
        case object(ObjectIdentifier)
        case place(FilePath.Identity)
    }

    /// The claims of all living pipelines. Each one stands under all of its keys, and under the gate of its pipeline.
    private typealias All = Locked<[Key: [Claim]]>

    // nonisolated(unsafe): CurrentProcess.childLock protects it.
    nonisolated(unsafe) private static var stored = (process: CreatingProcess(), all: All([:]))

    private static var all: All {
        CurrentProcess.childLock.withLock { _ in
            if stored.process.isParent {
                // Never released: a thread that doesn't exist here may hold its lock. The pipelines stay with the parent, and their
                // objects with them. Without the lock, these are unknown.
                let objects = Unmanaged.passRetained(stored.all).takeUnretainedValue().withLockIfFree { all in
                    all.filter { $0.value.contains { $0.owner is StateGate } }
                }
                stored = (CreatingProcess(), All(objects ?? [:]))
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
            if names.contains(where: { all[$0.key]?.contains(where: isSame) == true }) { return (false, nil) }
            for (index, (key, name)) in names.enumerated() {
                guard let other = all[key]?.first(where: excludes) else { continue }
                let taken = other.names.first { $0.key == key }?.name ?? name
                return (true, (index, name == taken ? name : "\(name), which is \(taken)", other))
            }
            guard let pipeline else { return (true, nil) }
            for key in names.map(\.key) + [.object(pipeline)] { all[key, default: []].append(self) }
            return (true, nil)
        }
    }

    /// Ends the claims of a pipeline.
    static func end(of pipeline: StateGate) {
        let pipeline = ObjectIdentifier(pipeline)
        // Owners are released without the lock.
        _ = all.withLock { all in
            let ended = all.removeValue(forKey: .object(pipeline)) ?? []
            for (key, _) in ended.flatMap(\.names) {
                all[key]?.removeAll { $0.pipeline == pipeline }
                if all[key]?.isEmpty == true { all[key] = nil }
            }
            return ended
        }
    }

    private func isSame(_ other: Claim) -> Bool {
        owner === other.owner && pipeline == other.pipeline && gate == other.gate
    }

    private func excludes(_ other: Claim) -> Bool {
        !(isShared && other.isShared && (pipeline != other.pipeline || gate == other.gate))
    }
}
