import Foundation

/// The file `status.json`, in which a running host tells about a route.
package struct HostStatus: Decodable, Hashable, Sendable {
    package let route: String
    /// Such as `ready`, `pausing` or `paused`. A later version of the host may write others.
    package let state: String
    /// When the host wrote the file, in milliseconds since 1970.
    package let at: Int64
    /// When it makes the next attempt, in milliseconds since 1970.
    package let nextAttempt: Int64?
    package let lastStatus: Int?
    package let lastFailure: String?

    /// A host's file has up to 5 KiB.
    private static let largest = 65_536

    /// Returns nil if there is no such file, or if it can't be read: a host writes it after its first attempt.
    init?(in directory: String) {
        var bytes = [UInt8](repeating: 0, count: HostStatus.largest)
        do {
            let file = try ReadOnlyFile("\(directory)/status.json")
            let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
            self = try JSONDecoder().decode(HostStatus.self, from: Data(bytes[..<count]))
        } catch {
            return nil
        }
    }
}

extension ProcessDirectory {
    /// What the host tells about its route. Ask only if ``isRunning``: a host that was killed leaves an old file.
    package var status: HostStatus? { HostStatus(in: path) }
}
