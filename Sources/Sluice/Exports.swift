// A host that imports this module needs no import of the floors below it.
@_exported public import SluiceDelivery
@_exported public import SluiceEvents
@_exported public import SluiceSystem
