#if compiler(>=6.2) && os(Linux)
    import CSluiceCurl
    import Sluice
    import SluiceLibC
    import Testing

    @testable import SluiceHTTP

    @Suite("Signals", .serialized) struct SignalTests {
        @Test("SIGPIPE, which a TLS library's write can raise, doesn't end the process and stays as it was")
        func pipeSignalIsHarmless() async {
            await #expect(processExitsWith: .success) {
                let server = try Server(responding: HTTPResponse.ok)
                try openClient().check()
                let connection = try #require(sluice_curl_create())
                defer { sluice_curl_free(connection) }
                let result = "GET".withCString { method in
                    server.url.withCString { url in
                        "".withCString { headers in
                            var request = sluice_curl_request(
                                method: method, url: url, headers: headers, body: nil, body_count: 0,
                                connect_milliseconds: 60_000, total_milliseconds: 60_000,
                                receive: { _, _, _, _ in pthread_kill(pthread_self(), SIGPIPE) == 0 }, context: nil)
                            _ = sluice_curl_begin(connection)
                            return sluice_curl_send(connection, &request)
                        }
                    }
                }
                #expect(result.failure == nil)
                var mask = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &mask)
                #expect(sigismember(&mask, SIGPIPE) == 0)
            }
        }
    }
#endif
