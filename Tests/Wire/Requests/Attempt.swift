import Sluice
import SluiceHTTP

/// An event as the last processor saw it, and the line that the store received.
struct StoredEvent: Sendable {
    let event: Event
    let line: EventLine
}

/// Events of one batch.
struct RecordedBatch: Sendable {
    let id: Batch.ID
    let events: [StoredEvent]

    subscript(range: some RangeExpression<Int>) -> RecordedBatch {
        RecordedBatch(id: id, events: Array(events[range]))
    }
}

/// The requests that a transport made of a batch, and its verdicts.
struct Attempt: Sendable {
    let requests: [HTTPRequest]
    let verdicts: [Verdict]

    /// Whether the batch was not too large for one request.
    var isWhole: Bool { verdicts.count == 1 || verdicts != Array(repeating: .tooLarge(), count: verdicts.count) }
}

extension HTTPTransport {
    func attempt(_ batch: RecordedBatch, with client: RecordingClient) async throws -> Attempt {
        let count = batch.events.count
        let verdicts =
            switch try await send(Batch(id: batch.id, events: batch.events.map(\.line))).kind {
            case .all(let verdict): Array(repeating: verdict, count: count)
            case .each(let verdicts): verdicts
            }
        return Attempt(requests: client.takeRequests(), verdicts: verdicts)
    }
}

/// Keeps the requests, and answers each as its format's backend answers when it takes all events.
final class RecordingClient: HTTPClient {
    private let answer: @Sendable (HTTPRequest) -> HTTPResponse
    private let requests = Locked<[HTTPRequest]>([])

    init(answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) {
        self.answer = answer
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        requests.withLock { $0.append(request) }
        return answer(request)
    }

    func takeRequests() -> [HTTPRequest] {
        requests.withLock { requests in
            defer { requests = [] }
            return requests
        }
    }
}
