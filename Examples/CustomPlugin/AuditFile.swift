import Foundation
import Sluice

/// Appends a line of tab-separated fields for each event to a file that you can open in a spreadsheet.
actor AuditFile: Transport {
    private let url: URL

    init(at path: String) {
        url = URL(filePath: path)
    }

    /// Checks the file while the pipeline is built, so that you see a wrong path immediately.
    nonisolated func open(_ observer: TransportObserver, in environment: PipelineEnvironment) throws(SluiceError) {
        do {
            if !FileManager.default.fileExists(atPath: url.path) { try Data().write(to: url) }
            try FileHandle(forWritingTo: url).close()
        } catch {
            throw SluiceError(.invalidArgument, "the audit file can't be written: use another path", cause: error)
        }
    }

    /// Accepts events only after the drive has them. An error from the file is a retry of the whole batch.
    func send(_ batch: Batch) async throws -> Verdicts {
        var text = ""
        let verdicts = batch.events.map { line -> Verdict in
            do throws(SluiceError) {
                let event = try line.event()
                text += "\(event.time.milliseconds)\t\(event.id)\t\(event.name.debugDescription)\n"
                return .accepted
            } catch {
                // Another version has stored this line. The receiver never saw it, so this is no refusal.
                return .unsendable(reason: "the stored line can't be read: \(error.code.rawValue)")
            }
        }
        let file = try FileHandle(forWritingTo: url)
        let end = try file.seekToEnd()
        do {
            try file.write(contentsOf: Data(text.utf8))
            try file.synchronize()
            try file.close()
        } catch {
            // The batch is sent again, so remove the lines that were written.
            try file.truncate(atOffset: end)
            throw error
        }
        return .each(verdicts)
    }
}
