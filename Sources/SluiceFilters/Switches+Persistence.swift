public import Sluice
import SluiceFiles

extension Switches {
    /// Where the positions are kept.
    public struct Persistence: Sendable {
        // Nil keeps nothing.
        private let file: StateFile?

        /// Nowhere: each launch begins with everything on.
        public static let memory = Persistence(file: nil)

        /// In the file `switches.json` in a directory, which is made if it is missing.
        ///
        /// - Parameter directory: the path of a directory. Several plugins of one host may share it; each has a file
        ///   name of its own.
        public static func file(_ directory: String) -> Persistence {
            Persistence(file: StateFile("switches.json", in: directory))
        }

        func read() throws(SluiceError) -> Positions? {
            guard let file, let bytes = try file.read() else { return nil }
            let all = [true, false].flatMap { isEnabled in
                [true, false].map { Positions(isEnabled: isEnabled, isDeliveryPaused: $0) }
            }
            guard let positions = all.first(where: { $0.record == bytes }) else {
                throw SluiceError(
                    .corruptSwitches, "\(file.path) holds no positions of switches: set them anew, with setEnabled(_:)")
            }
            return positions
        }

        func write(_ positions: Positions) throws(SluiceError) {
            try file?.write(positions.record)
        }
    }
}

extension Switches.Positions {
    fileprivate var record: [UInt8] { Array(#"{"enabled":\#(isEnabled),"deliveryPaused":\#(isDeliveryPaused)}"#.utf8) }
}

extension SluiceError.Code {
    /// The file that holds the positions of `Switches` was damaged or changed by someone else. Thrown when a pipeline is
    /// built; `setEnabled(_:)` replaces it.
    public static let corruptSwitches = SluiceError.Code(rawValue: "corruptSwitches")
}
