import Sluice
import Testing

@testable import SluiceHTTP

/// A server that records the numbers of the events that it has read and confirmed.
final class TrialServer: Sendable {
    struct Books {
        /// In the order of arrival, whatever the response.
        var read: [Int] = []
        /// The events with a response that confirms them.
        var confirmed: [Int] = []
        /// Complete requests.
        var requests = 0
    }

    let server: Server
    private let books: Locked<Books>

    var url: String { server.url }
    var all: Books { books.withLock { $0 } }

    /// - Parameter respond: The response to the events with these numbers; nil confirms them.
    init(_ respond: @escaping @Sendable (_ numbers: [Int]) -> Action? = { _ in nil }) throws {
        let books = Locked(Books())
        self.books = books
        server = try Server { connection in
            while let request = try connection.readRequest() {
                let numbers = try TrialServer.numbers(in: request.body)
                books.withLock { $0.requests += 1 }
                if let action = respond(numbers) {
                    if action.keeps { books.withLock { $0.read += numbers } }
                    try action.act(connection)
                } else {
                    books.withLock { books in
                        books.read += numbers
                        books.confirmed += numbers
                    }
                    try connection.write(HTTPResponse.ok)
                }
            }
        }
    }

    /// A response other than a confirmation.
    struct Action: Sendable {
        /// Whether the server stores the events nevertheless.
        var keeps = false
        let act: @Sendable (Connection) throws -> Void

        init(keeps: Bool = false, _ act: @escaping @Sendable (Connection) throws -> Void) {
            self.keeps = keeps
            self.act = act
        }

        static func status(_ status: Int, _ headers: String = "") -> Action {
            Action { try $0.write("HTTP/1.1 \(status) No\r\n\(headers)Content-Length: 0\r\n\r\n") }
        }
    }

    /// The property `number` of each event, in the order of the body.
    static func numbers(in body: [UInt8]) throws -> [Int] {
        try (JSONReader.value(of: body).array ?? []).map { event in
            try #require(event.object?["properties"]?.object?["number"]?.asInt)
        }
    }
}
