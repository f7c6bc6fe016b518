import CBenchmarks
import Foundation
import SluiceHTTP

/// Heap allocations of the thread that calls `track`.
struct SluiceAllocations: Candidate {
    let rows = [Row(name: "allocations", description: "heap allocations of track", unit: .perEvent, baseline: nil)]

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        guard benchmarks_allocations() >= 0 else { return [] }
        let pipeline = try SluicePipeline.onDisk(in: folder)
        // The first events fill caches.
        for index in 0..<100 { pipeline.track(Sample.event, Sample(index).properties) }
        let before = benchmarks_allocations()
        for index in 0..<events { pipeline.track(Sample.event, Sample(index).properties) }
        return [Double(benchmarks_allocations() - before) / Double(events)]
    }
}

/// System calls of `track`, counted by strace.
struct SluiceSystemCalls: Candidate {
    let rows = [
        Row(name: "system-calls", description: "system calls of track, by strace", unit: .perEvent, baseline: nil)
    ]

    func measure(_ events: Int, in folder: String) throws -> [Double] {
        #if os(Linux)
            // strace makes each call about 100 times slower. What happens once per millisecond must not seem more frequent.
            let environment = PipelineEnvironment(time: SlowTime(factor: 100))
            let pipeline = try SluicePipeline.onDisk(in: folder, environment: environment)
            pipeline.pauseDelivery()
            for index in 0..<100 { pipeline.track(Sample.event, Sample(index).properties) }
            let output = folder + "/calls"
            benchmarks_allow_tracing()
            let strace = Process()
            strace.executableURL = URL(filePath: "/usr/bin/env")
            strace.arguments = ["strace", "-qq", "-f", "-o", output, "-p", "\(getpid())"]
            strace.standardError = FileHandle.nullDevice
            // Threads of a task block signals, and a process inherits that. strace ends by a signal.
            var (none, blocked) = (sigset_t(), sigset_t())
            sigemptyset(&none)
            pthread_sigmask(SIG_SETMASK, &none, &blocked)
            defer { pthread_sigmask(SIG_SETMASK, &blocked, nil) }
            try strace.run()
            while strace.isRunning, try !isTraced() { usleep(10_000) }
            guard strace.isRunning else { return [] }
            // Only these calls lie between two calls that nothing else makes.
            _ = access("/begin", F_OK)
            for index in 0..<events { pipeline.track(Sample.event, Sample(index).properties) }
            _ = access("/end", F_OK)
            strace.terminate()
            strace.waitUntilExit()
            let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
            guard let begin = lines.firstIndex(where: { $0.contains(#"("/begin""#) }),
                let end = lines.firstIndex(where: { $0.contains(#"("/end""#) })
            else { throw Failure("strace has not seen all calls") }
            return [Double(end - begin - 1) / Double(events)]
        #else
            return []
        #endif
    }

    /// Whether strace has attached to the current thread. It attaches to one thread after another.
    private func isTraced() throws -> Bool {
        let status = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
        return status.contains("TracerPid:") && !status.contains("TracerPid:\t0\n")
    }
}

/// The clocks of the system, but a second takes longer.
private struct SlowTime: TimeSource {
    let factor: Int
    private let system = PipelineEnvironment.systemTime
    private let start = PipelineEnvironment.systemTime.wallTime().milliseconds

    init(factor: Int) { self.factor = factor }

    func wallTime() -> Timestamp {
        Timestamp(milliseconds: start + (system.wallTime().milliseconds - start) / Int64(factor))
    }
    func suspendingTime() -> Duration { system.suspendingTime() / factor }
    func continuousTime() -> Duration { system.continuousTime() / factor }
    func sleep(until deadline: Duration) async throws { try await system.sleep(until: deadline * factor) }
}

/// Wake-ups of all threads of a pipeline in which nothing waits, beyond those of the process without it.
struct SluiceIdle: Candidate {
    let rows = [
        Row(name: "idle", description: "wake-ups while nothing waits", unit: Unit(name: "/minute"), baseline: nil)
    ]
    let sink: String

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        #if os(Linux)
            // 10 s for 2,000 events.
            let window = Duration.milliseconds(events * 5)
            let without = try await wakeUps(in: window)
            let pipeline = try SluicePipeline.onDisk(in: folder, to: HTTPTransport(to: sink, format: .ndjson))
            pipeline.track(Sample.event, Sample(0).properties)
            try await SluicePipeline.deliver(1, of: pipeline)
            try await Task.sleep(for: .milliseconds(200))
            let with = try await wakeUps(in: window)
            await pipeline.shutdown()
            // The process itself may have woken up less often than before.
            return [Double(max(0, with - without)) * (.seconds(60) / window)]
        #else
            return []
        #endif
    }

    private func wakeUps(in window: Duration) async throws -> Int {
        let before = try switches()
        try await Task.sleep(for: window)
        let after = try switches()
        return after.reduce(0) { $0 + $1.value - before[$1.key, default: 0] }
    }

    /// The voluntary context switches of each thread.
    private func switches() throws -> [String: Int] {
        var switches: [String: Int] = [:]
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
            // A thread may have ended meanwhile.
            guard let file = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/status") else { continue }
            let lines = String(decoding: file, as: UTF8.self).split(separator: "\n")
            let line = lines.first { $0.hasPrefix("voluntary_ctxt_switches:") }
            switches[thread] = line?.split(separator: "\t").last.flatMap { Int($0) }
        }
        return switches
    }
}

/// The growth of resident memory while the server can't be reached and the store is full.
struct SluiceMemoryGrowth: Candidate {
    let rows = [
        Row(
            name: "memory", description: "growth of resident memory, unreachable server, full store",
            unit: Unit(name: "MB", decimals: 1), baseline: nil)
    ]

    private struct Unreachable: Transport {
        func send(_ batch: Batch) async throws -> Verdicts { throw Failure("unreachable") }
    }

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        #if os(Linux)
            // A million for 2,000 events a round. The first 50,000 fill the store of 10 MiB.
            let (warmUp, events) = (events * 25, events * 500)
            let pipeline = try SluicePipeline.onDisk(in: folder, capacity: 10_485_760, to: Unreachable())
            benchmarks_trim_heap()
            for index in 0..<warmUp { pipeline.track(Sample.event, Sample(index).properties) }
            let before = try residentBytes()
            for index in warmUp..<events { pipeline.track(Sample.event, Sample(index).properties) }
            return [Double(try residentBytes() - before) / 1_000_000]
        #else
            return []
        #endif
    }

    private func residentBytes() throws -> Int {
        let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (Int(pages[1]) ?? 0) * Int(getpagesize())
    }
}
