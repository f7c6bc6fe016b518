// Links: the campaign that opened the app is on all later events, and secrets in links are not.
//
//     swift run LinksExample

import SluiceAutoProperties
import SluiceMemory

/// Prints each event with its campaigns.
struct PrintCampaigns: Transport {
    func send(_ batch: Batch) async throws -> Verdicts {
        for line in batch.events {
            let event = try line.event()
            let first = event.properties["$first_utm_source"]?.string ?? "none"
            let latest = event.properties["$latest_utm_source"]?.string ?? "none"
            print("  \(event.name): first campaign \(first), latest \(latest)")
            if let url = event.properties["$url"] { print("    \(url)") }
        }
        return .all(.accepted)
    }
}

// Pass `persistedIn: .file(stateDirectory)` to keep the campaigns across launches.
let links = Links()
let pipeline = try Pipeline {
    links
    MemoryStore()
    PrintCampaigns()
}

print("before any link:")
pipeline.track("AppOpened")
await pipeline.flush()

print("a link of a newsletter opens the app:")
links.opened("https://shop.example/sale?utm_source=newsletter&utm_campaign=spring&token=s3cr3t")
pipeline.track("Search")
await pipeline.flush()
precondition(links.campaigns["$first_utm_source"] == "newsletter")

print("a week later, a push message opens it:")
links.pushOpened("summer", source: "news", url: "shop://sale")
pipeline.track("Purchase", ["sku": "A-7"])
await pipeline.flush()

print("a link without a campaign changes nothing:")
links.opened("shop://cart")
await pipeline.flush()
precondition(links.campaigns["$latest_utm_source"] == "news")

print("the user logs out, and the campaigns are forgotten:")
links.reset()
pipeline.track("Search")
await pipeline.shutdown()
