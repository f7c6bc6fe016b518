import SluiceHTTP
import SluiceIdentity
import SluiceJSONL
import SluiceLifecycle
import SluiceMemory
import SluicePassiveLaunch

/// The analytics of an app: one pipeline from the launch to the end, and the plugins whose methods the app calls.
final class Analytics: Sendable {
    let identity: Identity
    let pipeline: Pipeline

    /// Makes the pipeline.
    ///
    /// - Parameters:
    ///   - folder: Where events and state are kept; nil for memory.
    ///   - launch: How the process was started.
    ///   - transport: The way to the backend.
    init(in folder: String?, launch: Signal.Launch, sendingBy transport: some Transport) throws {
        let state = folder.map { Persistence.file($0 + "/state") } ?? .memory
        let identity = Identity(persistedIn: state)
        self.identity = identity
        pipeline = try Pipeline(onDiagnostic: { print("analytics: \($0)") }) {
            identity
            Sessions(persistedIn: state)
            LifecycleEvents(persistedIn: state, appVersion: "2.4.1", appBuild: "97")
            PassiveLaunchTagger(launch: launch)
            if let folder {
                JSONLStore(at: folder + "/events")
            } else {
                MemoryStore()
            }
            transport
        }
    }

    /// Starts the analytics. If the folder can't be used, events and state stay in memory for this launch.
    static func start(
        in folder: String, launch: Signal.Launch, sendingBy transport: some Transport
    ) throws -> Analytics {
        do {
            return try Analytics(in: folder, launch: launch, sendingBy: transport)
        } catch {
            print("analytics are kept in memory: \(error)")
            return try Analytics(in: nil, launch: launch, sendingBy: transport)
        }
    }
}
