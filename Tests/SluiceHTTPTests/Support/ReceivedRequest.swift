import Foundation

/// A request that a server has read.
struct ReceivedRequest: Sendable {
    /// The number of its connection.
    var connection: Int
    /// From the request line to the empty line.
    var head: String
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }
    var lines: [String] { head.components(separatedBy: "\r\n") }

    func values(_ name: String) -> [String] {
        lines.dropFirst().filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }.map {
            String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces)
        }
    }

    func header(_ name: String) -> String? { values(name).first }
}
