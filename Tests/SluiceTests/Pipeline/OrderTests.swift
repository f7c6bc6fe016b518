import Foundation
import Sluice
import SluiceMemory
import SluiceTesting
import TestSupport
import Testing

/// The order of stages, of events and of signals.
@Suite struct OrderTests {
    /// Records calls of several stages.
    final class Book: Sendable {
        private let lines = Locked<[String]>([])
        var all: [String] { lines.withLock(\.self) }
        func write(_ line: String) { lines.withLock { $0.append(line) } }
    }

    struct Scribe: Processor {
        let name: String
        let book: Book

        func prepare() { book.write("\(name) prepared") }

        func process(_ event: inout Event) -> Disposition {
            book.write("\(name) \(event.name)")
            event.name += name
            return .keep
        }

        func update(for signal: Signal) { book.write("\(name) updates") }
        func emit(for signal: Signal) { book.write("\(name) emits") }
    }

    @Test("stages are prepared and see events in the order of their lines, and each route gets its own event")
    func stagesRunInLineOrder() async throws {
        let book = Book()
        let transports = (0..<4).map { _ in ScriptedTransport() }
        let pipeline = try Pipeline {
            Scribe(name: "a", book: book)
            Scribe(name: "b", book: book)
            for (index, names) in [[], ["c"], [], ["d", "e"]].enumerated() {
                Route("\(index)") {
                    for name in names { Scribe(name: name, book: book) }
                    MemoryStore()
                    transports[index]
                }
            }
        }
        #expect(book.all == ["a", "b", "c", "d", "e"].map { "\($0) prepared" })
        pipeline.track("-")
        // A route doesn't see the changes of an earlier one.
        #expect(book.all.dropFirst(5) == ["a -", "b -a", "c -ab", "d -ab", "e -abd"])
        await pipeline.shutdown(timeout: .seconds(600))
        let events = try transports.flatMap { try $0.accepted() }
        #expect(events.map(\.name) == ["-ab", "-abc", "-ab", "-abde"])
        // One id in all routes.
        #expect(Set(events.map(\.id)).count == 1)
    }

    @Test(
        "on entering, all stages update and then emit; on leaving, they emit from the last line to the first and then update",
        arguments: [
            (Signal.launched(.foreground), true), (.launched(.passive), true), (.didBecomeActive, true),
            (.connectivity(.available), true), (.connectivity(.metered), true), (.connectivity(.unavailable), false),
            (.willResignActive, false), (.didEnterBackground, false), (.willTerminate, false),
        ])
    func signalsAreDeliveredInTwoPasses(signal: Signal, isEntering: Bool) throws {
        let book = Book()
        let pipeline = try Pipeline {
            Scribe(name: "a", book: book)
            Scribe(name: "b", book: book)
            Route("one", Scribe(name: "c", book: book))
        }
        pipeline.signal(signal)
        let updates = ["a updates", "b updates", "c updates"]
        let emissions = ["a emits", "b emits", "c emits"]
        let expected: [String] = isEntering ? updates + emissions : emissions.reversed() + updates
        #expect(Array(book.all.dropFirst(3)) == expected)
    }

    @Test("processors run on the caller's thread, before track returns")
    func processorsRunOnCallersThread() async throws {
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
            Route("one", own)
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
        await pipeline.shutdown(timeout: .seconds(600))
    }

    @Test("the events of one caller arrive in order, also if the transport finds some requests too large")
    func eventsOfOneCallerArriveInOrder() async throws {
        let transport = ScriptedTransport(maximumBatchSize: BatchSize(events: 7, bytes: .max)) { send, batch in
            send % 5 == 2 && batch.events.count > 1 ? .answer(.all(.tooLarge())) : .answer(.all(.accepted))
        }
        let pipeline = try Pipeline.with(
            in: MemoryStore(capacity: 1 << 30), to: transport, delivery: DeliveryPolicy(flushCount: 1))
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<500 { pipeline.track("Task \(task)", ["number": .int(number)]) }
                }
            }
        }
        while await pipeline.flush().waiting > 0 {}
        let events = try transport.accepted()
        #expect(events.count == 4_000)
        for task in 0..<8 {
            let numbers = events.filter { $0.name == "Task \(task)" }.map { event -> Int64 in
                if case .int(let number) = event.properties["number"] { number } else { -1 }
            }
            #expect(numbers == numbers.sorted())
            #expect(Set(numbers).count == numbers.count)
        }
        await pipeline.shutdown(timeout: .seconds(600))
    }
}

/// Between two suspensions, an asynchronous function is on one thread, too.
private func currentThread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }
