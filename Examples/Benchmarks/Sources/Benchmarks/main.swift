import GRDB
import Logging
import SluiceJSONL
print(MemoryLayout<JSONLStore>.size)
