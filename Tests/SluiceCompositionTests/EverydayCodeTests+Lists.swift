import Sluice
import SluiceDuration
import SluiceTesting
import Testing

/// Lists of properties, and the verbs that take them.
extension EverydayCodeTests {
    static let lists = [
        Snippet("a list from a literal with variables", ["a": "shoes", "b": 1]) {
            $0.pipeline.track("E", Properties(["a": $0.query, "b": 1]))
        },
        Snippet("a list of properties", ["a": 1, "b": "shoes"]) {
            $0.pipeline.track("E", Properties([Property("a", 1), Property("b", $0.query)]))
        },
        Snippet("a dictionary variable", ["alex": 2, "kim": 1]) {
            $0.pipeline.track("E", $0.scores)
        },
        Snippet("a dictionary of strings", ["Category": "Music", "FileName": "favorite.avi"]) {
            let properties = ["FileName": "favorite.avi", "Category": "Music"]
            $0.pipeline.track("E", properties)
        },
        Snippet("a list from a dictionary variable", ["alex": 2, "kim": 1]) {
            $0.pipeline.track("E", Properties($0.scores))
        },
        Snippet("a dictionary of any values", ["a": 1, "b": ["x", 2.5], "c": ["d": true]]) {
            let dictionary: [String: Any] = ["a": 1, "b": ["x", 2.5] as [Any], "c": ["d": true]]
            $0.pipeline.track("E", try Properties(converting: dictionary))
        },
        Snippet("the sum of two lists", ["a": 1, "b": "shoes", "c": 2]) {
            let common: Properties = ["a": 1, "b": 0]
            $0.pipeline.track("E", common + ["b": $0.query, "c": 2])
        },
        Snippet("a list that is changed", ["a": "shoes", "b": 3, "c": 4, "d": 5]) {
            var properties: Properties = [:]
            properties["a"] = $0.query
            properties["b"] = $0.count
            properties.append(Property("c", 4))
            properties.merge(["d": $0.count + 2])
            $0.pipeline.track("E", properties)
        },
        Snippet("a list that is read", ["a": "shoes", "b": 4]) {
            let old = Properties(["a": $0.query, "b": $0.count])
            $0.pipeline.track("E", ["a": old["a"]?.string, "b": (old["b"]?.int ?? 0) + 1])
        },
        Snippet("an encodable value", ["sku": "A-7", "count": 3]) {
            $0.pipeline.track("E", try Properties(encoding: Item(sku: "A-7", count: $0.count)))
        },
        Snippet("a typed event", ["items": [["sku": "A-7", "count": 3]], "plan": "pro"]) {
            $0.pipeline.track(Purchase(items: [Item(sku: "A-7", count: $0.count)], plan: $0.plan))
        },
    ]

    static let verbs = [
        Snippet("priority, id and configure", ["v": "shoes"]) {
            let id = EventID(high: 1, low: 2)
            let result = $0.pipeline.track("E", ["v": $0.query], priority: .critical, id: id) { $0.loginID = "l" }
            let event = $0.store.events.last
            #expect(result == id && event?.id == id && event?.priority == .critical && event?.loginID == "l")
        },
        Snippet("a list for a verb of a plugin", ["v": "shoes", "w": 3]) {
            let list = Properties(["v": $0.query])
            $0.timers.end("E", .init(list + ["w": $0.count]))
        },
        Snippet("mixed literals for a verb of a plugin", ["a": 1, "b": "x", "c": true, "d": -1.5, "e": ["f": 1]]) {
            $0.timers.end("E", ["a": 1, "b": "x", "c": true, "d": -1.5, "e": ["f": 1]])
        },
        Snippet("variables and null for a verb of a plugin", ["a": "shoes", "b": 3, "c": nil]) {
            $0.timers.end("E", ["a": $0.query, "b": $0.count, "c": .null])
        },
        Snippet("an empty literal for a verb of a plugin", [:]) { $0.timers.end("E", [:]) },
        Snippet("any tracker with a dictionary", ["alex": 2, "kim": 1]) {
            let analytics: any EventTracking = $0.pipeline
            analytics.track("E", $0.scores, priority: .critical) { $0.loginID = "l" }
        },
        Snippet("any tracker", ["v": "shoes"]) {
            let analytics: any EventTracking = $0.pipeline
            analytics.track("E", ["v": $0.query])
        },
        Snippet("a plugin's context", ["v": "shoes"]) { $0.context.context.track("E", ["v": $0.query]) },
        Snippet("a timer by its name", ["v": "shoes"]) { $0.timers.end("E", ["v": $0.query], priority: .critical) },
        Snippet("a timer by its token", ["v": "shoes", "$event_duration": 1]) {
            $0.timers.end($0.timers.start("E"), ["v": $0.query, "$event_duration": 1])
        },
        Snippet("a screen that is entered", ["v": "shoes", "$screen_name": "S"]) {
            $0.screens.enter("S", ["v": $0.query])
        },
        Snippet("a screen that is shown", ["v": "shoes", "$screen_name": "S"]) {
            $0.screens.show("S", ["v": $0.query])
        },
    ]
}
