import Foundation
import Sluice

/// `track` from several threads into one pipeline, in wall time; and from two threads into a pipeline each.
struct SluiceThreads: Candidate {
    let rows = [
        SluiceThreads.row("threads-1", "track from one thread", baseline: nil),
        SluiceThreads.row("threads-2", "from two threads", baseline: "threads-1"),
        SluiceThreads.row("threads-8", "from 8 threads", baseline: "threads-1"),
        SluiceThreads.row("threads-1000", "from 1,000 threads", baseline: "threads-8"),
        SluiceThreads.row("pipelines-2", "from two threads into a pipeline each", baseline: "threads-1"),
    ]

    private static func row(_ name: String, _ description: String, baseline: String?) -> Row {
        Row(name: name, description: description, unit: .throughput, baseline: baseline)
    }

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        // 40 for each of 1,000 threads. With 20, starting the threads took half of the measured time.
        let events = events * 20
        return try [(1, 1), (2, 1), (8, 1), (1_000, 1), (2, 2)].map { threads, pipelines in
            try throughput(of: events, threads: threads, pipelines: pipelines, in: "\(folder)/\(threads)-\(pipelines)")
        }
    }

    private func throughput(of events: Int, threads: Int, pipelines count: Int, in folder: String) throws -> Double {
        let pipelines = try (0..<count).map { try SluicePipeline.onDisk(in: "\(folder)/\($0)") }
        for pipeline in pipelines { pipeline.pauseDelivery() }
        let throughput = Benchmarks.throughput(of: events, threads: threads) { number, indices in
            let pipeline = pipelines[number % count]
            for index in indices { pipeline.track(Sample.event, Sample(index).properties) }
        }
        let waiting = pipelines.reduce(0) { $0 + $1.ledger.routes[0].waiting }
        try Failure.unless(waiting, is: events, "waiting events")
        return throughput
    }
}

/// Runs `body` on each of several threads, with its number and its part of the events.
func throughput(
    of events: Int, threads: Int, _ body: @escaping @Sendable (_ number: Int, _ indices: Range<Int>) -> Void
) -> Double {
    let (ready, start, done) = (DispatchGroup(), DispatchSemaphore(value: 0), DispatchGroup())
    for number in 0..<threads {
        ready.enter()
        done.enter()
        let thread = Thread {
            ready.leave()
            start.wait()
            body(number, events * number / threads..<events * (number + 1) / threads)
            done.leave()
        }
        thread.stackSize = 256 << 10
        thread.start()
    }
    ready.wait()
    let time = WallTime()
    for _ in 0..<threads { start.signal() }
    done.wait()
    return time.throughput(of: events)
}
