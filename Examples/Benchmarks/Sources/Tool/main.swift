// Counts the lines of a file: `Tool FILE`. TrackingTool does the same, and tracks it.

import Foundation

let text = try String(contentsOfFile: CommandLine.arguments[1], encoding: .utf8)
print(text.count { $0 == "\n" })
