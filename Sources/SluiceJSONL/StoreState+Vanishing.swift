internal import Sluice
internal import SluiceFiles

extension StoreState {
    /// Counts what somebody has deleted underneath, and lets the next write begin in a new folder if need be.
    mutating func vanish() {
        for lane in lanes.indices {
            guard let writer = lanes[lane].writer, writer.isDeleted else { continue }
            lanes[lane].writer = nil
            tally.events -= writer.events
            tally.eventBytes -= writer.eventBytes
            tally.fileBytes -= writer.fileBytes
            writer.folder.segments -= 1
            observer.dropped(writer.events, .vanished)
        }
        for segment in lanes.flatMap(\.sealed) where segment.condition == .waiting && isMissing(segment) {
            lost(segment)
        }
        removeUnremoved()
        if let home, !home.isPresent {
            for lane in lanes.indices where lanes[lane].writer != nil { closeWriter(lane) }
            self.home = nil
            deadLetters = DeadLetters()
            notes.append("the store's directory was deleted underneath it: what waited in it is lost; it is made anew")
        }
    }

    /// Accounts for a segment whose file is not there any more.
    mutating func lost(_ segment: Segment) {
        retire(segment)
        aside.removeAll { $0 === segment }
        observer.dropped(segment.events ?? 0, .vanished)
        forget(segment)
    }

    private func isMissing(_ segment: Segment) -> Bool {
        do throws(FileError) {
            _ = try files.status(of: segment.path)
            return false
        } catch {
            return error == .noSuchFile
        }
    }
}
