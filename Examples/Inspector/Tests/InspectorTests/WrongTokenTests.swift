import Testing

@testable import Inspector

/// Delays that last until the test ends them.
private actor Delays {
    private var started = 0
    private var isOver = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var starts: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func pause() async {
        started += 1
        for start in starts where start.count <= started { start.continuation.resume() }
        starts.removeAll { $0.count <= started }
        if isOver { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func waitForStarts(_ count: Int) async {
        if started >= count { return }
        await withCheckedContinuation { starts.append((count, $0)) }
    }

    func end() {
        isOver = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}

@Suite("Wrong tokens")
struct WrongTokenTests {
    @Test("A wrong token is answered after the delay, and doesn't delay the right one")
    func delaysOnlyWrongTokens() async throws {
        let folder = try TestFolder()
        let delays = Delays()
        let delay = WrongTokenDelay { await delays.pause() }
        try await withInspector(folder, wrongTokenDelay: delay) { client, token in
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    group.addTask { await client.send("GET", "/?token=\(number)") }
                }
                await delays.waitForStarts(8)
                // All eight wait now.
                #expect(await client.send("GET", "/?token=\(token)").hasPrefix("HTTP/1.1 200"))
                await delays.end()
                for try await response in group { #expect(response.hasPrefix("HTTP/1.1 403")) }
            }
        }
    }

    @Test("A request that is refused for its name or origin doesn't wait")
    func delaysNothingElse() async throws {
        let folder = try TestFolder()
        let delays = Delays()
        let delay = WrongTokenDelay { await delays.pause() }
        try await withInspector(folder, wrongTokenDelay: delay) { client, token in
            let url = "/?token=\(token)"
            #expect(await client.send("GET", "/", host: "evil.example:\(client.port)").hasPrefix("HTTP/1.1 403"))
            #expect(await client.send("GET", url, headers: ["Origin: null"]).hasPrefix("HTTP/1.1 403"))
        }
    }

    @Test("Only a limited number of requests wait, and one that ends makes room for another")
    func limitsWaiting() async throws {
        let delays = Delays()
        let delay = WrongTokenDelay(limit: 2) { await delays.pause() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { try await delay.wait() }
            }
            await delays.waitForStarts(2)
            // Two wait, so these return without a delay.
            for _ in 0..<10 { try await delay.wait() }
            await delays.end()
            try await group.waitForAll()
        }
        try await delay.wait()
        await delays.waitForStarts(3)
    }
}
