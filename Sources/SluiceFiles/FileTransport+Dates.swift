import Sluice

extension FileTransport {
    /// The events of a batch that are in one folder, by their indices.
    struct Group {
        let folder: String
        var events: [Int]
    }

    /// Divides a batch by folders, in the order of their first events.
    ///
    /// - Returns: The groups, and a verdict for each event: an acceptance if it is in a group.
    func grouped(_ batch: Batch) -> (groups: [Group], verdicts: [Verdict]) {
        let firstDate = firstDate
        var groups: [Group] = []
        var places: [Int64: Int] = [:]
        var verdicts = [Verdict](repeating: .accepted, count: batch.events.count)
        for (index, line) in batch.events.enumerated() {
            do throws(SluiceError) {
                let local = calendar.local(try line.time())
                if let firstDate, EventCalendar.end(ofDayOf: local) <= firstDate {
                    verdicts[index] = .unsendable(reason: "the event is older than the maximumAge of files")
                    continue
                }
                let number = calendar.number(of: local)
                if let place = places[number] {
                    groups[place].events.append(index)
                } else {
                    places[number] = groups.count
                    groups.append(Group(folder: calendar.folder(of: local), events: [index]))
                }
            } catch {
                verdicts[index] = .unsendable(reason: "the event has no readable time")
            }
        }
        return (groups, verdicts)
    }

    /// The midnight up to which dates have expired. Nil without a maximum age.
    private var firstDate: Timestamp? {
        guard let maximumAge else { return nil }
        let now = calendar.local(state.withLock(\.time).wallTime())
        return Timestamp(milliseconds: now.milliseconds - maximumAge.components.seconds * 1_000)
    }

    /// Removes expired files, once a day.
    func removeExpired(in lake: Lake) {
        guard let firstDate else { return }
        let today = EventCalendar.end(ofDayOf: calendar.local(state.withLock(\.time).wallTime()))
        let (isDue, observer) = state.withLock { state in
            defer { state.lastExpiry = today }
            return (state.lastExpiry != today, state.observer)
        }
        guard isDue else { return }
        let expired = lake.removeFiles(before: firstDate)
        if expired.kept > 0 {
            observer.note(
                "\(expired.kept) dates of \"\(lake.path)\" have passed the maximumAge by more than a year, and are kept, as the "
                    + "clock can be wrong: set it, or remove their folders yourself")
        }
        if expired.files > 0 {
            observer.note(
                "\(expired.files) files with \(expired.events) events of \"\(lake.path)\" were older than the maximumAge, and "
                    + "are removed")
        }
        if let failure = expired.failure {
            observer.note("a file of \"\(lake.path)\" that is older than the maximumAge can't be removed: \(failure)")
        }
    }
}
