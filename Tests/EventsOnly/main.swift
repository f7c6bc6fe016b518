// A program that links only SluiceEvents: it must link, and read back what it has written. The linker finds a function that
// SluiceEvents uses but doesn't import, such as one of the C math library on Linux.
//
//     swift run -c release EventsOnly

import FeatureModule
import SluiceEvents

/// Prints the line of each event, and checks that it reads back as the same event.
struct PrintedEvents: EventTracking {
    func track(
        _ name: String, _ properties: Properties, priority: Event.Priority, id: EventID?,
        configure: (inout Event) -> Void
    ) -> EventID {
        let id = id ?? EventID(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
        var event = Event(id: id, name: name, time: Timestamp(milliseconds: 1_800_000_000_000), properties: properties)
        event.priority = priority
        configure(&event)
        do {
            let line = try EventLine(event)
            print(String(decoding: line.bytes, as: UTF8.self))
            let read = try line.event()
            precondition(read == event)
        } catch {
            preconditionFailure("\(error)")
        }
        return id
    }
}

let events = PrintedEvents()
let checkout = Checkout(tracking: events)
checkout.pay(12.5, for: "A-7")
checkout.cancel(at: 2)
events.track(
    "Values", ["pi": 3.14159265358979, "large": 1e300, "date": Timestamp(milliseconds: 0), "list": [1, 2.5, nil]])
