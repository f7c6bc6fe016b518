import Sluice
import SluiceFiles

/// Where ``LifecycleEvents`` and ``Sessions`` keep what the next launch has to know.
public struct LifecyclePersistence: Sendable {
    private let directory: String?

    /// Nowhere: nothing is known of earlier launches.
    public static let memory = LifecyclePersistence(directory: nil)

    /// In the files `lifecycle.json` and `sessions.json` in a directory, which is made if it is missing.
    ///
    /// - Parameter directory: the path of a directory. Several plugins of one host may share it; several processes may
    ///   not.
    public static func file(_ directory: String) -> LifecyclePersistence {
        LifecyclePersistence(directory: directory)
    }

    func file(_ name: String) -> StateFile? {
        directory.map { StateFile(name, in: $0) }
    }
}
