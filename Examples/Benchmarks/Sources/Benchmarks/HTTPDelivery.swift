import CBenchmarks
import Foundation
import SluiceHTTP

/// Stored events to a sink in another process as NDJSON, against libcurl's easy interface with the same bodies; then both
/// compressed, against zlib's level 1.
struct HTTPDelivery: Candidate {
    static let repetitions = 5

    let rows: [Row]
    let sink: String
    /// The events of a request.
    private let batch: Int
    private let bodies: [[UInt8]]
    /// The events that are recorded and then sent in the rows with this name: as many as the files that the store uses again
    /// have, in whole batches.
    private let soon: Int

    init(batch: Int, sink: String, workload: Workload) throws {
        self.batch = batch
        self.sink = sink
        bodies = try workload.bodies(of: batch)
        let soon = max(1, 200 / batch) * batch
        self.soon = soon
        func row(
            _ name: String, _ description: String, _ unit: Unit, baseline: String?, isDifference: Bool = false
        ) -> Row {
            Row(
                name: "\(name)-\(batch)", description: description, unit: unit,
                baseline: baseline.map { "\($0)-\(batch)" }, isDifference: isDifference)
        }
        rows = [
            row("curl", "libcurl, NDJSON, \(batch) events a request", .throughput, baseline: nil),
            row("files", "libcurl, each body read from a file, which is then removed", .throughput, baseline: "curl"),
            row("http", "the same bodies from JSONLStore by HTTPTransport", .throughput, baseline: "curl"),
            row(
                "files-soon", "libcurl with files, each \(soon) events written before they are sent", .throughput,
                baseline: "curl"),
            row(
                "http-soon", "HTTPTransport, each \(soon) events recorded before they are sent", .throughput,
                baseline: "files-soon"),
            row("curl-cpu", "libcurl, processor time", .cpu, baseline: nil),
            row("files-cpu", "libcurl with files, processor time", .cpu, baseline: "curl-cpu"),
            row("http-cpu", "HTTPTransport, processor time", .cpu, baseline: "curl-cpu"),
            row("files-soon-cpu", "the same for files-soon", .cpu, baseline: "curl-cpu"),
            row("http-soon-cpu", "the same for http-soon", .cpu, baseline: "files-soon-cpu"),
            row(
                "zlib", "zlib's level 1: libcurl with it, less libcurl without", .cpu, baseline: nil, isDifference: true
            ),
            row(
                "gzip", "HTTPTransport with gzip, less HTTPTransport without", .cpu, baseline: "zlib",
                isDifference: true),
        ]
    }

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        // Enough for the connection not to matter.
        let events = events * HTTPDelivery.repetitions
        guard let curl = try libcurl(events, compresses: false), let zlib = try libcurl(events, compresses: true) else {
            return []
        }
        guard let files = try libcurl(events, filesIn: folder + "/bodies", part: .max),
            let newFiles = try libcurl(events, filesIn: folder + "/new", part: soon / batch)
        else { return [] }
        let plain = try await sluice(events, .ndjson, in: folder + "/plain")
        let soon = try await sluice(events, .ndjson, in: folder + "/soon", part: soon)
        let gzip = try await sluice(events, .vector, in: folder + "/gzip")
        return [
            curl.throughput, files.throughput, plain.throughput, newFiles.throughput, soon.throughput, curl.cpu,
            files.cpu, plain.cpu, newFiles.cpu, soon.cpu, zlib.cpu - curl.cpu, gzip.cpu - plain.cpu,
        ]
    }

    private typealias Cost = (throughput: Double, cpu: Double)

    /// - Parameter part: how many events are recorded before they are delivered. Nil for all of them.
    private func sluice(
        _ events: Int, _ format: HTTPFormat, in folder: String, part: Int? = nil
    ) async throws -> Cost {
        let pipeline = try SluicePipeline.onDisk(
            in: folder, delivery: SluicePipeline.onDemand(batch: BatchSize(events: batch, bytes: 1 << 20)),
            to: HTTPTransport(to: sink, format: format))
        // From the first batch on, the store's segments have the size of the batches.
        pipeline.track(Sample.event, Sample(0).properties)
        try await SluicePipeline.deliver(1, of: pipeline)
        let sends = pipeline.ledger.routes[0].attempts.total
        var (seconds, nanoseconds, expected) = (0.0, 0.0, 0)
        for start in stride(from: 0, to: events, by: part ?? events) {
            let count = min(part ?? events, events - start)
            try SluicePipeline.track(count, into: pipeline, pauses: false)
            let (cpu, wall) = (CPUTime(), WallTime())
            try await SluicePipeline.deliver(start + count + 1, of: pipeline)
            seconds += wall.seconds
            nanoseconds += cpu.nanoseconds(for: events)
            expected += (count + batch - 1) / batch
        }
        let cost = (Double(events) / seconds, nanoseconds)
        let requests = pipeline.ledger.routes[0].attempts.total - sends
        try Failure.unless(requests, is: expected, "requests")
        return cost
    }

    /// The same as ``libcurl(_:compresses:)``, with the least that a store on disk must do.
    ///
    /// - Parameter part: how many files are written before they are sent.
    private func libcurl(_ events: Int, filesIn folder: String, part: Int) throws -> Cost? {
        guard let client = benchmarks_curl_create(sink, nil) else { return nil }
        defer { benchmarks_curl_free(client) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let bodies = Array(repeatElement(bodies, count: HTTPDelivery.repetitions).joined())
        var buffer = [UInt8](repeating: 0, count: 4 << 20)
        var (seconds, nanoseconds) = (0.0, 0.0)
        var rest = bodies.indices[...]
        while !rest.isEmpty {
            let numbers = rest.prefix(part)
            rest = rest.dropFirst(part)
            for number in numbers {
                // Line by line, as events are stored. A file that is written in one piece is cheaper to read and to remove.
                let file = try LineFile("\(folder)/\(number)")
                let body = bodies[number]
                for line in body.split(separator: UInt8(ascii: "\n")) {
                    body[line.startIndex...line.endIndex].withUnsafeBytes { file.append($0) }
                }
            }
            let (cpu, wall) = (CPUTime(), WallTime())
            for number in numbers {
                let path = "\(folder)/\(number)"
                let file = open(path, O_RDONLY | O_CLOEXEC)
                let count = read(file, &buffer, buffer.count)
                close(file)
                try Failure.unless(count, is: bodies[number].count, "bytes of a body")
                try Failure.unless(benchmarks_curl_post(client, buffer, count), is: 204, "as the status")
                unlink(path)
            }
            seconds += wall.seconds
            nanoseconds += cpu.nanoseconds(for: events)
        }
        return (Double(events) / seconds, nanoseconds)
    }

    /// Nil if the system has no libcurl.
    private func libcurl(_ events: Int, compresses: Bool) throws -> Cost? {
        guard let client = benchmarks_curl_create(sink, compresses ? "Content-Encoding: deflate" : nil) else {
            return nil
        }
        defer { benchmarks_curl_free(client) }
        var compressed = [UInt8](repeating: 0, count: 4 << 20)
        let (cpu, wall) = (CPUTime(), WallTime())
        for body in repeatElement(bodies, count: HTTPDelivery.repetitions).joined() {
            var status = 0
            if compresses {
                let count = benchmarks_deflate(body, body.count, &compressed, compressed.count)
                guard count > 0 else { return nil }
                status = benchmarks_curl_post(client, compressed, count)
            } else {
                status = benchmarks_curl_post(client, body, body.count)
            }
            try Failure.unless(status, is: 204, "as the status")
        }
        return (wall.throughput(of: events), cpu.nanoseconds(for: events))
    }
}
