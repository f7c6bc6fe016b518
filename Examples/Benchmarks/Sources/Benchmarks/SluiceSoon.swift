import Foundation
import SluiceJSONL

/// The steady state: events are delivered soon after they were recorded, so the store uses its files again.
struct SluiceSoon: Candidate {
    let rows = [
        Row(name: "soon-write", description: "write(2) of the lines, in the same rounds as these rows", baseline: nil),
        Row(
            name: "soon-track", description: "track through six stages, all delivered before the next 200 events",
            baseline: "soon-write"),
        Row(name: "soon-deliver", description: "the delivery of these events", baseline: "soon-write"),
        Row(name: "soon-together-20", description: "the same track in groups of 20", baseline: "soon-write"),
        Row(
            name: "soon-together-1000", description: "the same in groups of 1,000, all delivered before the next group",
            baseline: "soon-write"),
    ]
    let workload: Workload

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        // Whole groups of 1,000.
        let events = max(1, events / 200) * 1_000
        let file = try LineFile(folder + "/events.jsonl")
        let time = CPUTime()
        for index in 0..<events {
            workload.lines[index % workload.lines.count].withUnsafeBytes { file.append($0) }
        }
        let write = time.nanoseconds(for: events)
        let single = try await cost(of: events, in: folder + "/single", group: nil)
        let small = try await cost(of: events, in: folder + "/small", group: 20)
        let large = try await cost(of: events, in: folder + "/large", group: 1_000, batches: 250)
        return [write, single.track, single.deliver, small.track, large.track]
    }

    /// Delivers after each four batches.
    private func cost(
        of events: Int, in folder: String, group: Int?, batches: Int = 50
    ) async throws -> (track: Double, deliver: Double) {
        let pipeline = try SluicePipeline.onDisk(
            in: folder, delivery: SluicePipeline.onDemand(batch: BatchSize(events: batches, bytes: 1 << 20)))
        let part = 4 * batches
        let parts = events / part
        var (track, deliver) = (0.0, 0.0)
        // The first two parts have new files.
        for number in -2..<parts {
            let recording = try SluicePipeline.track(part, into: pipeline, group: group, pauses: false)
            let time = CPUTime()
            try await SluicePipeline.deliver((number + 3) * part, of: pipeline)
            if number >= 0 {
                track += recording / Double(parts)
                deliver += time.nanoseconds(for: parts * part)
            }
        }
        return (track, deliver)
    }
}

/// The durability `.full` in the steady state, against the least that it can cost.
struct SluiceFull: Candidate {
    let rows = [
        Row(
            name: "sync", description: "write(2) and fdatasync(2) of each line to one file", unit: .throughput,
            baseline: nil),
        Row(
            name: "full", description: "track through six stages with the durability .full, delivered in four parts",
            unit: .throughput, baseline: "sync"),
    ]
    let workload: Workload

    func measure(_ events: Int, in folder: String) async throws -> [Double] {
        // A synchronization takes as long as a hundred events.
        let part = max(1, events / 40)
        let file = try LineFile(folder + "/events.jsonl")
        let time = WallTime()
        for index in 0..<4 * part {
            workload.lines[index % events].withUnsafeBytes { file.append($0) }
            try file.synchronize()
        }
        let sync = time.throughput(of: 4 * part)
        let pipeline = try SluicePipeline.onDisk(
            in: folder + "/full", durability: .full, delivery: SluicePipeline.onDemand())
        var seconds = 0.0
        // The first part has a new file.
        for number in 0...4 {
            let time = WallTime()
            for index in 0..<part { pipeline.track(Sample.event, Sample(index).properties) }
            if number > 0 { seconds += time.seconds }
            try await SluicePipeline.deliver((number + 1) * part, of: pipeline)
        }
        return [sync, Double(4 * part) / seconds]
    }
}
