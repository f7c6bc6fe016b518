import Foundation
import Sluice
import SluiceMemory
import SluiceTesting
import Testing

/// The order of stages, of events and of signals.
@Suite(.timeLimit(.minutes(10))) struct OrderTests {
    /// Writes down, in one book for several stages, who saw what.
    final class Book: Sendable {
        private let lines = Locked<[String]>([])
        var all: [String] { lines.withLock(\.self) }
        func write(_ line: String) { lines.withLock { $0.append(line) } }
    }

    struct Scribe: Processor {
        let name: String
        let book: Book

        func attach(to outlet: EventOutlet) { book.write("\(name) attached") }

        func process(_ event: inout Event) -> Disposition {
            book.write("\(name) \(event.name)")
            event.name += name
            return .keep
        }

        func receive(_ signal: Signal) { book.write("\(name) \(signal)") }
    }

    @Test("stages see events, attachments and signals in the order of their lines")
    func stagesSeeEvents() async throws {
        let book = Book()
        let pipeline = try Pipeline {
            Scribe(name: "a", book: book)
            Scribe(name: "b", book: book)
            Route("one") {
                Scribe(name: "c", book: book)
                MemoryStore()
                ScriptedTransport()
            }
            Route("two") {
                Scribe(name: "d", book: book)
                Scribe(name: "e", book: book)
                MemoryStore()
                ScriptedTransport()
            }
        }
        #expect(book.all == ["a", "b", "c", "d", "e"].map { "\($0) attached" })
        pipeline.track("-")
        // What the first route does to the event is not seen by the second.
        #expect(book.all.dropFirst(5) == ["a -", "b -a", "c -ab", "d -ab", "e -abd"])
        for signal in [Signal.willResignActive, .didEnterBackground] { pipeline.signal(signal) }
        #expect(
            Array(book.all.dropFirst(10))
                == ["willResignActive", "didEnterBackground"].flatMap { signal in
                    ["a", "b", "c", "d", "e"].map { "\($0) \(signal)" }
                })
        await pipeline.shutdown(deadline: .seconds(600))
    }

    @Test("every route gets the event as its own processors made it")
    func everyRouteGets() async throws {
        let book = Book()
        let transports = [ScriptedTransport(), ScriptedTransport(), ScriptedTransport()]
        let pipeline = try Pipeline {
            Route("plain") {
                MemoryStore()
                transports[0]
            }
            Route("changed") {
                Scribe(name: "x", book: book)
                MemoryStore()
                transports[1]
            }
            Route("plain too") {
                MemoryStore()
                transports[2]
            }
        }
        pipeline.track("Event", ["p": 1])
        await pipeline.shutdown(deadline: .seconds(600))
        let events = try transports.map { try $0.accepted() }
        #expect(events.map { $0.map(\.name) } == [["Event"], ["Eventx"], ["Event"]])
        // One event, wherever it goes.
        #expect(Set(events.flatMap(\.self).map(\.id)).count == 1)
    }

    @Test("processors run on the caller's thread, before track returns")
    func processorsRunCallers() async throws {
        final class ThreadNote: Processor {
            let threads = Locked<[ObjectIdentifier]>([])
            func process(_ event: inout Event) -> Disposition {
                threads.withLock { $0.append(currentThread()) }
                return .keep
            }
        }
        let shared = ThreadNote()
        let own = ThreadNote()
        let pipeline = try Pipeline {
            shared
            Route("one") {
                own
                MemoryStore()
                ScriptedTransport()
            }
        }
        let caller = currentThread()
        pipeline.track("Event")
        #expect(shared.threads.withLock(\.self) == [caller])
        #expect(own.threads.withLock(\.self) == [caller])
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let other = currentThread()
                pipeline.track("Event")
                #expect(other != caller)
                #expect(own.threads.withLock(\.self) == [caller, other])
                continuation.resume()
            }
        }
        await pipeline.shutdown(deadline: .seconds(600))
    }

    @Test("one caller's events arrive in their order, through failures and parts")
    func oneCallersEvents() async throws {
        let transport = ScriptedTransport(maximumBatchSize: BatchSize(events: 7, bytes: .max)) { send, batch in
            switch send % 5 {
            case 1: .answer(.all(.retry(after: nil)))
            case 2: .answer(.all(.split(.tooLarge)))
            case 3: .failure(SluiceError(.inputOutput, "the line is dead"))
            default: .answer(.all(.accepted))
            }
        }
        let pipeline = try Pipeline(delivery: DeliveryPolicy(flushCount: 1)) {
            MemoryStore(capacity: 1 << 30)
            transport
        }
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<500 { pipeline.track("Task \(task)", ["number": .int(number)]) }
                }
            }
        }
        // Now and then a single event is too large by itself, and rejected; the rest keeps its order.
        while await pipeline.flush().waiting > 0 {}
        let events = try transport.accepted()
        #expect(events.count + pipeline.ledger.routes[0].rejected == 2_000)
        for task in 0..<4 {
            let numbers = events.filter { $0.name == "Task \(task)" }.map { event -> Int64 in
                if case .int(let number) = event.properties["number"] { number } else { -1 }
            }
            #expect(numbers == numbers.sorted())
            #expect(Set(numbers).count == numbers.count)
        }
        await pipeline.shutdown(deadline: .seconds(600))
    }
}

/// Between two suspensions, an asynchronous function is on one thread, too.
private func currentThread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }
