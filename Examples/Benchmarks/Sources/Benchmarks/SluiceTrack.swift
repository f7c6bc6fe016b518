import Sluice
import SluiceJSONL
import SluiceMemory

/// `track`: what the caller's thread pays for an event.
struct SluiceTrack: Candidate {
    let row: String
    let description: String
    var hasStages = true
    var isOnDisk = true

    func nanoseconds(for events: Int, in folder: String) throws -> Int {
        let pipeline = try Pipeline {
            if hasStages { SluicePipeline.sixStages(stateIn: folder) }
            if isOnDisk {
                JSONLStore(at: folder + "/events", capacity: .max)
            } else {
                MemoryStore(capacity: .max)
            }
            AcceptingTransport()
        }
        let nanoseconds = try SluicePipeline.track(events, into: pipeline)
        if isOnDisk {
            // The pipeline is still there, and has been asked for nothing: what it promises must be in the files by now.
            try Failure.unless(Files.lineCount(under: folder + "/events"), is: events, "lines")
        }
        return nanoseconds
    }
}
