// A host that imports this module needs no import of the core.
@_exported public import Sluice
