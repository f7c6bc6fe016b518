import Sluice
import StoreFiles

/// Takes the events of requests, and answers as the developer wants.
actor Receiver {
    /// How requests are answered.
    struct Answers: Sendable {
        /// Events are kept if this is 200 to 299. Nil closes the connection without a response.
        var status: Int? = 200
        /// Requests with an event that has one of these get 400: `name=value`, or a part of any value.
        var refused: [String] = []
        /// The time until each response.
        var delay = Duration.zero
    }

    /// The counts for the page.
    struct Report: Sendable {
        var requests = 0
        var events = 0
        /// Events that had arrived before.
        var repeated = 0
        var refusedRequests = 0
    }

    /// A request whose events were not kept.
    struct Refusal: Sendable {
        let time: Timestamp
        /// Nil if there was no response.
        let status: Int?
        let reason: String
        let events: Int
        /// The names of the events, such as `2 Purchase, 1 Search`.
        let names: String
    }

    private let files: CollectedFiles
    private let answers: Answers
    private let now: @Sendable () -> Timestamp
    private let sleep: @Sendable (Duration) async throws -> Void
    private let print: @Sendable (String) -> Void
    private let printer: ArrivalPrinter
    private(set) var report = Report()
    private var refused = Recent<Refusal>(limit: 100, bytes: .max / 2)
    private var known = RecentIDs()

    init(
        _ files: CollectedFiles, _ answers: Answers = Answers(), isColored: Bool = false,
        now: @escaping @Sendable () -> Timestamp = { PipelineEnvironment.systemTime.wallTime() },
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        print: @escaping @Sendable (String) -> Void
    ) {
        (self.files, self.answers, self.now, self.sleep, self.print) = (files, answers, now, sleep, print)
        printer = ArrivalPrinter(isColored: isColored)
    }

    /// The newest refusals, the newest one last.
    var refusals: [Refusal] { refused.elements }

    /// - Throws: A ``NoResponse`` if the connection must be closed.
    func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        let response = answer(to: request)
        if answers.delay > .zero { try await sleep(answers.delay) }
        guard let response else { throw NoResponse() }
        return response
    }

    /// Counts a request that was not read as a whole, such as one that is too large.
    func refuse(_ problem: HTTPProblem) {
        // Browsers open connections that they may need later.
        if problem == .tooSlow { return }
        report.requests += 1
        _ = refuse(problem.status, problem.rawValue)
    }

    private func answer(to request: HTTPRequest) -> HTTPResponse? {
        report.requests += 1
        // A page of a browser may have any origin. No other program sends one.
        if request.headers["origin"] != nil { return refuse(403, "a web page may not send events here") }
        let body: ReceivedBody
        do {
            body = try ReceivedBody(Receiver.contents(of: request), at: now())
        } catch let error as BodyProblem {
            return refuse(400, error.message)
        } catch {
            return refuse(415, "the body can't be read: \(error)")
        }
        let events = body.events
        guard let status = answers.status else { return refuse(nil, "--answer nothing", events.map(\.event)) }
        guard (200..<300).contains(status) else { return refuse(status, "--answer \(status)", events.map(\.event)) }
        for text in answers.refused where events.contains(where: { $0.line.has(text) }) {
            return refuse(400, "\(text) is refused", events.map(\.event))
        }
        do throws(CollectProblem) {
            try keep(events)
        } catch {
            return refuse(503, error.description, events.map(\.event))
        }
        // Some services confirm events in the body, and their formats look for it.
        return .text(#"{"status":"ok","results":{}}"#, status: status)
    }

    /// - Throws: A reason if the body is compressed, and not by gzip.
    private static func contents(of request: HTTPRequest) throws -> [UInt8] {
        guard let encoding = request.headers["content-encoding"] else { return request.body }
        guard encoding.lowercased() == "gzip" else { throw BodyEncoding(name: encoding) }
        return try GzipProgram.contents(of: request.body, limit: 67_108_864)
    }

    private func keep(_ events: [(line: EventLine, event: Event)]) throws(CollectProblem) {
        // An event that is sent again is in a file already. A request can also have it twice.
        var batch: Set<EventID> = []
        let isNew = events.map { !known.contains($0.event.id) && batch.insert($0.event.id).inserted }
        try files.keep(zip(events, isNew).filter(\.1).map { ($0.0.line, $0.0.event.time) })
        for (event, isNew) in zip(events, isNew) {
            known.insert(event.event.id)
            report.events += isNew ? 1 : 0
            report.repeated += isNew ? 0 : 1
            print(printer.text(of: event.event, isRepeated: !isNew))
        }
    }

    private func refuse(_ status: Int?, _ reason: String, _ events: [Event] = []) -> HTTPResponse? {
        let counts = Dictionary(grouping: events, by: \.name).sorted {
            ($1.value.count, $0.key) < ($0.value.count, $1.key)
        }
        var names = counts.prefix(5).map { "\($0.value.count) \($0.key)" }.joined(separator: ", ")
        if counts.count > 5 { names += ", …" }
        let refusal = Refusal(time: now(), status: status, reason: reason, events: events.count, names: names)
        report.refusedRequests += 1
        refused.append(refusal, bytes: 0)
        print(printer.text(of: refusal))
        return status.map { .text(reason + "\n", status: $0) }
    }
}

/// A body is in another encoding than gzip.
private struct BodyEncoding: Error, CustomStringConvertible {
    let name: String

    var description: String { "its Content-Encoding is \(name): send gzip, or none" }
}

/// The connection is closed without a response.
struct NoResponse: Error {}

extension EventLine {
    /// Whether a value is `name=value`, or contains a text without a `=`.
    fileprivate func has(_ text: String) -> Bool {
        let lines = EventFields(bytes, withLines: true)?.lines ?? []
        return text.contains("=") ? lines.contains(text) : lines.contains { $0.contains(text) }
    }
}
