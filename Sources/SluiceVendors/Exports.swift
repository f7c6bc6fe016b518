// A host that imports this module needs no import of the transport and the core.
@_exported public import SluiceHTTP
