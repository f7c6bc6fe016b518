// The types of these floors are in the API of this one.
@_exported public import SluiceEvents
@_exported public import SluiceSystem
