// The host of a feature module. The module imports only SluiceEvents; the host builds the pipeline, and passes it.
//
//     swift run FeatureModuleExample

import FeatureModule
import SluiceMemory
import SluiceStdout

let pipeline = try Pipeline {
    MemoryStore()
    StdoutTransport()
}
let checkout = Checkout(tracking: pipeline)
checkout.cancel(at: 2)
checkout.pay(12.5, for: "A-7")
let ledger = await pipeline.shutdown()
precondition(ledger.routes[0].delivered == 2 && ledger.isBalanced)
