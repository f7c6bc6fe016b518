internal import Sluice

extension JSONLStore: StatusKeeping {
    /// Writes `status.json` beside the lock of the process, for people and tools such as the inspector.
    ///
    /// It is no part of the store: it doesn't count towards the capacity, and a full disk skips it. It is removed when another
    /// process takes the directory, or when the store is closed and no event waits. Otherwise it tells why events wait after
    /// a tool has ended.
    package func keep(_ status: RouteStatus) {
        guard let path = access.read(\.stored.directories.ownDirectory?.statusPath) else { return }
        let (route, environment) = (access.read(\.configuration.route), access.environment)
        let now = environment.time.wallTime()
        var writer = JSONWriter()
        writer.object {
            $0["route"] = route
            $0["state"] = status.state.rawValue
            $0["at"] = PropertyValue.int(now.milliseconds)
            $0["nextAttempt"] = status.nextAttempt.map {
                .int(now.milliseconds &+ ($0 - environment.time.continuousTime()).wholeMilliseconds)
            }
            $0["reusesFiles"] = access.read(\.stored.directories.spares.isOn) ? .bool(true) : nil
            $0["lastStatus"] = status.lastStatus.map { .int($0) }
            // A transport of yours can give any reason. With encryption, it must not be readable.
            let isPlain = access.configuration.encryption == nil
            $0["lastFailure"] = isPlain ? status.lastFailure.map { String($0.prefix(1_000)) } : nil
        }
        let incomplete = path + InstanceDirectory.incompleteSuffix
        do throws(FileError) {
            access.files.discardFile(incomplete)
            try OpenFile(incomplete, [.write, .create, .exclusive], in: access.files).write(writer.bytes[...])
            try access.files.rename(incomplete, to: path)
        } catch {
            // No status is better than an old one.
            for path in [incomplete, path] { access.files.discardFile(path) }
        }
    }
}
