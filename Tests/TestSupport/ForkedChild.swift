#if os(macOS) || os(Linux)
    package import Sluice
    import SluiceLibC

    /// The child of a `fork`, which Swift hides, and which hosts in C and Objective-C can call.
    package enum ForkedChild {
        /// Whether the thread sanitizer runs. Its own locks may be held in the child of a process that had threads.
        package static let isUnsafe = symbol("__tsan_init") != nil

        /// Runs `body` in the child of a `fork`.
        ///
        /// - Parameters:
        ///   - seconds: A child that takes longer hangs, and is killed.
        ///   - body: Runs in the child, which then ends.
        /// - Returns: Whether `body` has returned true.
        /// - Throws: An error if the process can't be forked.
        package static func succeeds(
            within seconds: UInt32 = 60, _ body: () async throws -> Bool
        ) async throws(SluiceError) -> Bool {
            let child = try begin()
            if child == 0 {
                end(after: seconds)
                do {
                    _exit(try await body() ? 0 : 1)
                } catch {
                    _exit(2)
                }
            }
            return wait(for: child)
        }

        /// Forks the process.
        ///
        /// - Returns: 0 in the child, and the child's process number in the parent.
        /// - Throws: An error if the process can't be forked.
        package static func begin() throws(SluiceError) -> Int32 {
            let fork = symbol("fork").map { unsafeBitCast($0, to: (@convention(c) () -> Int32).self) }
            guard let child = fork?(), child >= 0 else {
                throw SluiceError(.inputOutput, "the process can't be forked: errno \(errno)")
            }
            return child
        }

        /// Ends the process after some time, even if something hangs.
        package static func end(after seconds: UInt32) {
            // The threads of Swift concurrency block all signals, and the child of a fork inherits that.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGALRM)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            alarm(seconds)
        }

        /// Returns whether a child has ended with the status 0.
        package static func wait(for child: Int32) -> Bool {
            var status: Int32 = 0
            while waitpid(child, &status, 0) == -1, errno == EINTR {}
            return status == 0
        }

        private static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
            dlsym(UnsafeMutableRawPointer(bitPattern: 0), name)
        }
    }
#endif
