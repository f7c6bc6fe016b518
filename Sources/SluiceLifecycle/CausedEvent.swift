import Sluice

/// An event that a signal or another event causes.
struct CausedEvent {
    var name: String
    var properties: Properties
    /// Nil for now.
    var time: Timestamp?
    /// Nil for a new one.
    var id: EventID?
}
