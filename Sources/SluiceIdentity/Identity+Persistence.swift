public import Sluice
import SluiceFiles

extension Identity {
    /// Where an identity is kept: in one place, or in several of which one is enough.
    public struct Persistence: Sendable {
        // The first is the truth; the others stand in where it is lost. None keeps nothing.
        private let places: [IdentityPlace]

        /// Nowhere: the next launch has another anonymous id, and nobody is logged in.
        public static let memory = Persistence(places: [])

        /// In the file `identity.json` in a directory, which is made if it is missing.
        ///
        /// The file is replaced as a whole: after a crash or a loss of power it holds the identity from before a change
        /// or the one from after it.
        ///
        /// - Parameter directory: the path of a directory. Several plugins of one host may share it; each has a file
        ///   name of its own.
        public static func file(_ directory: String) -> Persistence {
            Persistence(places: [.file(StateFile("identity.json", in: directory))])
        }

        /// A place of the host's own, such as a database.
        ///
        /// - Parameters:
        ///   - name: how errors call it.
        ///   - read: what was written last; nil if nothing ever was. It must throw if that cannot be told, since nil makes
        ///     a new user.
        ///   - write: replaces what is kept, and returns when it is safe.
        public init(
            named name: String, read: @escaping @Sendable () throws -> [UInt8]?,
            write: @escaping @Sendable ([UInt8]) throws -> Void
        ) {
            self.init(places: [IdentityPlace(name: name, read: read, write: write)])
        }

        /// The same, with another place that is written as well, and read where this one has nothing or is damaged.
        ///
        /// So an id outlives the loss of either place. Where both have one, this place's counts.
        public func backedUp(by other: Persistence) -> Persistence {
            Persistence(places: places + other.places)
        }

        private init(places: [IdentityPlace]) {
            self.places = places
        }
    }
}

extension Identity.Persistence {
    /// What was found, and the places that had nothing, something else, or damaged bytes.
    struct Found {
        let ids: UserIDs
        fileprivate let lost: [IdentityPlace]
    }

    /// - Throws: if no place has an identity, but one had something else or could not be read.
    func read() throws(SluiceError) -> Found? {
        var failure: SluiceError?
        var lost: [IdentityPlace] = []
        for (index, place) in places.enumerated() {
            do throws(SluiceError) {
                if let ids = try place.ids() {
                    return Found(ids: ids, lost: lost + places[(index + 1)...].filter { $0.hasLost(ids) })
                }
                lost.append(place)
            } catch {
                if error.code == .corruptIdentity { lost.append(place) }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return nil
    }

    /// Writes what was found to the places that had lost it.
    func heal(_ found: Found) throws(SluiceError) {
        for place in found.lost.reversed() { try place.replace(by: found.ids) }
    }

    /// The truth comes last: what fails before has changed nothing that counts.
    func write(_ ids: UserIDs) throws(SluiceError) {
        for place in places.reversed() { try place.write(ids) }
    }

    /// Keeps what is damaged aside, and writes.
    func replace(by ids: UserIDs) throws(SluiceError) {
        for place in places.reversed() { try place.replace(by: ids) }
    }
}

extension SluiceError.Code {
    /// What holds the identity was damaged or changed by someone else. Thrown when a pipeline is built, and by the verbs
    /// of `Identity` except those that make a new user, which keep a damaged file aside and go on with a new id.
    public static let corruptIdentity = SluiceError.Code(rawValue: "corruptIdentity")
}
