import Sluice

/// A plugin of a route, which tracks events of its own and inserts some before those of the host.
final class RoutePlugin: Processor {
    let context = PluginContext()

    /// The property with the number of the event to insert.
    static let inserted = "inserted"
    /// The property of the plugin's own events.
    static let own = "own"

    func process(_ event: inout Event) -> Disposition {
        if let serial = event.properties[RoutePlugin.inserted]?.int {
            event.properties[RoutePlugin.inserted] = nil
            context.insert("Inserted", RoutePlugin.properties(serial), priority: event.priority, before: event)
        }
        return .keep
    }

    func track(_ serial: Int, priority: Event.Priority) {
        context.track("Own", RoutePlugin.properties(serial), priority: priority)
    }

    private static func properties(_ serial: Int) -> Properties { ["n": .int(serial), "own": true] }
}

/// The first processor of another route, which must not see the events of the first route's plugin.
struct Bystander: Processor {
    let life: Int
    let books: Books

    func process(_ event: inout Event) -> Disposition {
        if event.properties[RoutePlugin.own] != nil {
            books.violated("life \(life): an event of a route's plugin enters another route: \(event.name)")
        }
        return .drop(.filtered)
    }
}
