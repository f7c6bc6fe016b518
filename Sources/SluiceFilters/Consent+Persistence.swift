public import Sluice
import SluiceFiles

extension Consent {
    /// Where the user's answer is kept.
    public struct Persistence: Sendable {
        // Nil keeps nothing.
        private let file: StateFile?

        /// Nowhere: the next launch has to ask again.
        public static let memory = Persistence(file: nil)

        /// In the file `consent.json` in a directory, which is made if it is missing.
        ///
        /// - Parameter directory: the path of a directory. Several plugins of one host may share it; each has a file
        ///   name of its own.
        public static func file(_ directory: String) -> Persistence {
            Persistence(file: StateFile("consent.json", in: directory))
        }

        func read() throws(SluiceError) -> Status {
            guard let file, let bytes = try file.read() else { return .pending }
            switch bytes {
            case Status.granted.record: return .granted
            case Status.denied.record: return .denied
            default:
                throw SluiceError(
                    .corruptConsent,
                    "\(file.path) holds no answer of the user: ask again, and call grant() or deny() with the answer")
            }
        }

        func write(_ status: Status) throws(SluiceError) {
            try file?.write(status.record)
        }
    }
}

extension Consent.Status {
    // Neither can become the other by a damaged byte.
    fileprivate var record: [UInt8] {
        let record: StaticString =
            switch self {
            case .pending: #"{"consent":"pending"}"#
            case .granted: #"{"consent":"granted"}"#
            case .denied: #"{"consent":"denied"}"#
            }
        return record.withUTF8Buffer { Array($0) }
    }
}

extension SluiceError.Code {
    /// The file that holds the user's answer was damaged or changed by someone else. Thrown when a pipeline is built;
    /// `grant()` and `deny()` replace it.
    public static let corruptConsent = SluiceError.Code(rawValue: "corruptConsent")
}
