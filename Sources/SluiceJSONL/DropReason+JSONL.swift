public import Sluice

extension DropReason {
    /// In the child of a `fork`: the event was stored before, and is its parent's to deliver.
    public static let leftToParentProcess = DropReason(rawValue: "leftToParentProcess")
}
