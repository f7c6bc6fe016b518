public import Sluice

/// Remembers across launches whether the host has switched off its events, or only their delivery.
///
/// ```swift
/// let switches = Switches(persistedIn: .file(stateDirectory))
/// let pipeline = try Pipeline {
///     switches
///     …
/// }
/// try switches.setEnabled(false)          // no event passes any more: DropReason.switchedOff
/// try switches.setDeliveryPaused(true)    // events are stored, and none is sent
/// ```
///
/// Let it stand above all other stages: what is dropped here, nothing below has seen. What the user has agreed to is
/// `Consent`'s to remember; a host may use both.
///
/// One object may stand in several pipelines, and everything may be called from any thread. A change is on disk when the
/// call returns; if it throws, it counts until the process ends, and no longer.
///
/// A damaged file is never taken for an answer: building the pipeline throws
/// ``Sluice/SluiceError/Code/corruptSwitches`` until the host has called ``setEnabled(_:)``.
public final class Switches: Processor {
    public static var isUnique: Bool { true }

    struct Positions: Sendable, Equatable {
        var isEnabled = true
        var isDeliveryPaused = false
    }

    private struct State {
        /// Nil: not read yet.
        var positions: Positions?
        var outlets: [EventOutlet] = []
    }

    private let persistence: Persistence
    // Held while a change waits for the disk, for which `track` must not wait: it takes only the other lock.
    private let changes = Locked(())
    private let current = Locked(State())

    /// Reads the positions. What goes wrong is tried again, and thrown, when a pipeline is built with it.
    public init(persistedIn persistence: Persistence) {
        self.persistence = persistence
        do {
            _ = try load()
        } catch {
            // attach(to:) does the same again, and can throw.
        }
    }

    /// Whether events pass: true until the host says otherwise.
    public var isEnabled: Bool { positions.isEnabled }

    /// Whether events are only stored: false until the host says otherwise.
    public var isDeliveryPaused: Bool { positions.isDeliveryPaused }

    /// Lets events pass, or drops them as ``Sluice/DropReason/switchedOff``.
    ///
    /// - Throws: an error of the file.
    public func setEnabled(_ isEnabled: Bool) throws(SluiceError) {
        try change { $0.isEnabled = isEnabled }
    }

    /// Pauses delivery in all pipelines that it stands in, or resumes it.
    ///
    /// - Throws: an error of the file; while that is damaged, ``Sluice/SluiceError/Code/corruptSwitches``.
    public func setDeliveryPaused(_ isDeliveryPaused: Bool) throws(SluiceError) {
        // Whether events are on must not be made up for it.
        _ = try load()
        try change { $0.isDeliveryPaused = isDeliveryPaused }
    }

    public func attach(to outlet: EventOutlet) throws {
        _ = try load()
        current.withLock { $0.outlets.append(outlet) }
        if isDeliveryPaused { outlet.setDeliveryPaused(true) }
    }

    public func process(_ event: inout Event) -> Disposition {
        current.withLock { $0.positions?.isEnabled ?? true } ? .keep : .drop(.switchedOff)
    }

    private var positions: Positions { current.withLock { $0.positions } ?? Positions() }

    private func change(_ body: (inout Positions) -> Void) throws(SluiceError) {
        try changes.withLock { () throws(SluiceError) in
            // First, so that nothing passes while the disk is waited for, or when it fails.
            let (old, new, outlets) = current.withLock { state in
                let old = state.positions ?? Positions()
                var new = old
                body(&new)
                state.positions = new
                return (old, new, state.outlets)
            }
            if new.isDeliveryPaused != old.isDeliveryPaused {
                for outlet in outlets { outlet.setDeliveryPaused(new.isDeliveryPaused) }
            }
            try persistence.write(new)
        }
    }

    private func load() throws(SluiceError) -> Positions {
        try changes.withLock { () throws(SluiceError) in
            if let positions = current.withLock({ $0.positions }) { return positions }
            let positions = try persistence.read() ?? Positions()
            current.withLock { $0.positions = positions }
            return positions
        }
    }
}
