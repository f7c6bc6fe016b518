public import Sluice
import SluiceFiles

extension Identity {
    /// Where an identity is kept.
    public struct Persistence: Sendable {
        // Nil keeps nothing.
        private let file: StateFile?

        /// Nowhere: the next launch has another anonymous id, and nobody is logged in.
        public static let memory = Persistence(file: nil)

        /// In the file `identity.json` in a directory, which is made if it is missing.
        ///
        /// The file is replaced as a whole: after a crash or a loss of power it holds the identity from before a change
        /// or the one from after it.
        ///
        /// - Parameter directory: the path of a directory. Several plugins of one host may share it; each has a file
        ///   name of its own.
        public static func file(_ directory: String) -> Persistence {
            Persistence(file: StateFile("identity.json", in: directory))
        }

        func read() throws(SluiceError) -> UserIDs? {
            guard let file, let bytes = try file.read() else { return nil }
            do throws(SluiceError) {
                return try IdentityRecord.decode(bytes)
            } catch {
                throw SluiceError(
                    .corruptIdentity,
                    "\(file.path) is not what was written there: restore it from a backup, or call resetAnonymousID() "
                        + "to keep it aside and to go on as a new user",
                    cause: error)
            }
        }

        func write(_ ids: UserIDs) throws(SluiceError) {
            try file?.write(IdentityRecord.encode(ids))
        }

        func setAside() throws(SluiceError) {
            guard let file, let bytes = try file.read() else { return }
            try StateFile(path: "\(file.path).corrupt").write(bytes)
        }
    }
}

extension SluiceError.Code {
    /// The file that holds the identity was damaged or changed by someone else. Thrown when a pipeline is built, and by
    /// the verbs of `Identity` except `resetAnonymousID()`, which keeps the file aside and goes on with a new id.
    public static let corruptIdentity = SluiceError.Code(rawValue: "corruptIdentity")
}
