import Sluice

extension FileTransport {
    /// The events of a batch that are in one folder, by their indices.
    typealias Group = (folder: String, events: [Int])

    /// Divides a batch by folders, in the order of their first events. `settled` gets the events that are in no folder.
    func grouped(_ batch: Batch, settled: inout [Settled]) -> [Group] {
        let firstDate = firstDate
        var groups: [Group] = []
        var places: [Int64: Int] = [:]
        var last = (number: Int64.min, place: 0)
        for (index, line) in batch.events.enumerated() {
            do throws(SluiceError) {
                let local = calendar.local(try line.time())
                if let firstDate, EventCalendar.end(ofDayOf: local) <= firstDate {
                    let verdict = Verdict.unsendable(reason: "the event is older than the maximumAge of files")
                    settled.append(([index], verdict))
                    continue
                }
                let number = calendar.number(of: local)
                // Nearly always, the folder is the one of the event before.
                if number != last.number { last = (number, places[number] ?? groups.count) }
                if last.place == groups.count {
                    groups.append((calendar.folder(of: local), []))
                    places[number] = last.place
                }
                groups[last.place].events.append(index)
            } catch {
                settled.append(([index], .unsendable(reason: "the event has no readable time")))
            }
        }
        return groups
    }

    /// The time up to which dates have expired. Nil without a maximum age.
    private var firstDate: Timestamp? {
        maximumAge.map { Timestamp(milliseconds: today.milliseconds - $0.components.seconds * 1_000) }
    }

    /// The local time, by the earlier one of two clocks: a wall clock that is set forth later expires nothing, and one
    /// that was ahead at the opening expires nothing from its correction on.
    private var today: Timestamp {
        let (wall, start) = state.withLock { ($0.time.wallTime().clamped, $0.start.wall.milliseconds) }
        return calendar.local(min(wall, Timestamp(milliseconds: start + passed)))
    }

    /// The milliseconds since the opening.
    private var passed: Int64 {
        state.withLock { $0.time.continuousTime() - $0.start.continuous }.components.seconds * 1_000
    }

    /// Removes expired files, once a day.
    func removeExpired(in lake: Lake) {
        guard let firstDate else { return }
        let today = EventCalendar.end(ofDayOf: today)
        let (isDue, observer) = state.withLock { state in
            defer { state.lastExpiry = today }
            return (state.lastExpiry != today, state.observer)
        }
        guard isDue else { return }
        // A date that had expired more than a year before the opening is kept: a wrong clock is more probable.
        let expired = lake.removeFiles(before: firstDate, within: 365 * 86_400_000 + passed)
        if expired.kept > 0 {
            observer.note(
                "\(expired.kept) dates of \"\(lake.path)\" had passed the maximumAge by more than a year, and are kept, as the "
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
