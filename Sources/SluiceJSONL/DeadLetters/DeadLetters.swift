internal import Sluice

/// The dead letters of a store that are not in a closed segment, or came from there.
struct DeadLetters {
    /// A letter that is not in a file yet. The file of its event must not be removed before it is.
    struct Pending {
        let letter: DeadLetter
        let segment: Segment
        /// The place to mark in the file of its event.
        let mark: LinePlace
    }

    /// The oldest one first.
    private(set) var pending: [Pending] = []
    /// The letters that earlier processes have written, even if they are gone. Their events may be in segments that were
    /// not settled.
    private var earlier: Set<DeadLetter.ID> = []
    /// Whether the host knows that letters can't be written.
    var hasReportedFailure = false

    func isPending(_ segment: Segment) -> Bool { pending.contains { $0.segment === segment } }

    mutating func add(_ letter: DeadLetter, of segment: Segment, _ mark: LinePlace) {
        pending.append(Pending(letter: letter, segment: segment, mark: mark))
    }

    /// - Returns: the letters that were pending.
    mutating func removePending(_ ids: Set<DeadLetter.ID>) -> [Pending] {
        defer { pending.removeAll { ids.contains($0.letter.id) } }
        return pending.filter { ids.contains($0.letter.id) }
    }

    /// - Returns: false if a letter was read before: a process can't always remove a letter that it has written in vain.
    mutating func insertEarlier(_ id: DeadLetter.ID) -> Bool { earlier.insert(id).inserted }

    /// Removes events that earlier processes have rejected, before they could mark them.
    ///
    /// - Returns: the places to mark.
    func removeRejected(from contents: inout SegmentReader.Contents, of segment: Segment) -> [LinePlace] {
        guard segment.isEarlier, !earlier.isEmpty else { return [] }
        return contents.remove(contents.events(of: earlier, in: segment.name))
    }
}
