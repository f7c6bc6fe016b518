// Automatic properties, properties that the host adds to every event, and the campaign of the link that opened the app.
//
//     swift run AutoPropertiesExample

import SluiceAutoProperties
import SluiceMemory

/// Prints each event with its properties, one a line.
struct PrintProperties: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            print(event.name)
            for property in event.properties {
                var json = JSONWriter()
                json.value(property.value)
                print("  \(property.name): \(String(decoding: json.bytes, as: UTF8.self))")
            }
        }
        return .all(.accepted)
    }
}

let auto = AutoProperties(appName: "Shop", appVersion: "2.4.1")
let links = Links()
let pipeline = try Pipeline {
    auto
    links
    MemoryStore()
    PrintProperties()
}

pipeline.track("AppOpened")
await pipeline.flush()

auto.register(["plan": "pro", "$app_name": "Shop for Linux"])  // Takes precedence over the automatic property.
links.opened("https://shop.example/sale?utm_source=newsletter&token=s3cr3t")  // All later events have its campaign.
auto.registerDynamic("cart_size") { 3 }  // Computed for each event.
pipeline.track("Purchase", ["plan": "free"])  // The event's own value takes precedence over all.
await pipeline.shutdown()
