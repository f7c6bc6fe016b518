import Sluice

/// The events of every story, as the documentation has them. Each row names the plugin that tracks the event; the other
/// plugins add their marks to it.
extension Story {
    private static func verbs(_ session: Int64, isFirst: Bool = true) -> [Expected] {
        let events: [Expected] = [
            .user("$SignUp", session), .timer("Warmup", session, 0), .user("$ProfileSet", session),
        ]
        // The user of a later launch is the same one.
        return events.filter { isFirst || $0.name != "$SignUp" }
    }

    /// From the first signal to 5 s in the foreground.
    private static func opened(_ session: Int64) -> [Step] {
        [
            .wait(1), .signal(.didBecomeActive, .app("$AppStart", session), .view(session)),
            .track(.host("Used", session)), .wait(5),
        ]
    }

    private static func shutdown(_ session: Int64, screen: Double, app: Double, session milliseconds: Double)
        -> Launch.End
    {
        .shutdown([.leave(session, screen), .app("$AppEnd", session, app), .sessionEnd(session, milliseconds)])
    }

    /// The last launch of a story: foreground, and then an orderly end.
    private static func relaunch(_ session: Int64, recovered: [Expected] = [], sessions: [Expected] = []) -> Launch {
        Launch(
            recovered: recovered, sessions: sessions + [.sessionStart(session)],
            verbs: verbs(session, isFirst: false),
            steps: opened(session) + [.track(.host("Late", session)), .endTimer(.timer("Timer", session, 6_000))],
            signUpSession: session, end: shutdown(session, screen: 5_000, app: 5_000, session: 6_000))
    }

    private static func first(
        _ kind: Signal.Launch, _ steps: [Step], signUpSession: Int64? = 1, end: Launch.End
    ) -> Launch {
        let isPassive = kind == .passive
        func mark(_ rows: [Expected]) -> [Expected] { isPassive ? rows.map(\.passive) : rows }
        return Launch(
            kind: kind, sessions: mark([.sessionStart(1)]),
            app: mark([.app("$AppInstall", 1)] + (isPassive ? [.app("$AppStartPassively", 1)] : [])),
            verbs: mark(verbs(1)), steps: steps, signUpSession: signUpSession, end: end)
    }

    static let all = [foreground, passiveOpened, passive, background, interruption, crash, orderlyEnd]

    static let foreground = Story(
        name: "foreground launch",
        launches: [
            first(
                .foreground, opened(1) + [.track(.host("Late", 1)), .endTimer(.timer("Timer", 1, 6_000))],
                end: shutdown(1, screen: 5_000, app: 5_000, session: 6_000))
        ])

    /// The timer waits until the app is active. The hour is a pause of the session.
    static let passiveOpened = Story(
        name: "passive launch, then opened",
        launches: [
            first(
                .passive,
                [
                    .track(.host("Fetched", 1).passive), .wait(3_600),
                    .signal(
                        .didBecomeActive, .sessionEnd(1, 0), .sessionStart(2), .app("$AppStart", 2), .view(2)),
                    .track(.host("Used", 2)), .wait(5), .track(.host("Late", 2)),
                    .endTimer(.timer("Timer", 2, 5_000)),
                ],
                signUpSession: nil, end: shutdown(2, screen: 5_000, app: 5_000, session: 5_000))
        ])

    /// The end of its session is recovered, with the mark of that launch.
    static let passive = Story(
        name: "passive launch, never opened",
        launches: [
            first(
                .passive,
                [
                    .track(.host("Fetched", 1).passive), .wait(10), .endTimer(.timer("Timer", 1, 0).passive),
                ],
                end: .kill),
            relaunch(2, sessions: [.sessionEnd(1, 0).recovered(.own)]),
        ])

    /// 10 s in the background don't end the session, and don't count for the app, its screens and timers.
    static let background = Story(
        name: "opened, background, opened",
        launches: [
            first(
                .foreground,
                opened(1) + [
                    .signal(.willResignActive),
                    .signal(.didEnterBackground, .leave(1, 5_000), .app("$AppEnd", 1, 5_000)), .wait(10),
                    .signal(.didBecomeActive, .app("$AppStart", 1)), .track(.host("Used", 1)), .wait(7),
                    .track(.host("Late", 1)), .endTimer(.timer("Timer", 1, 13_000)),
                ],
                end: shutdown(1, screen: 7_000, app: 7_000, session: 23_000))
        ])

    /// An interruption is no background.
    static let interruption = Story(
        name: "interruption",
        launches: [
            first(
                .foreground,
                opened(1) + [
                    .signal(.willResignActive), .wait(60), .signal(.didBecomeActive), .track(.host("Used", 1)),
                    .wait(2), .track(.host("Late", 1)), .endTimer(.timer("Timer", 1, 68_000)),
                ],
                end: shutdown(1, screen: 67_000, app: 67_000, session: 68_000))
        ])

    /// The last known time is that of `didBecomeActive`: the state is written every 15 s.
    static let crash = Story(
        name: "crash and relaunch",
        launches: [
            first(.foreground, opened(1), end: .kill),
            relaunch(
                2, recovered: [.app("$AppEnd", 1, 0).recovered()], sessions: [.sessionEnd(1, 1_000).recovered()]),
        ])

    /// The system ends the app in the foreground.
    static let orderlyEnd = Story(
        name: "orderly end and relaunch",
        launches: [
            first(
                .foreground,
                opened(1) + [
                    .signal(.willTerminate, .leave(1, 5_000), .app("$AppEnd", 1, 5_000), .sessionEnd(1, 6_000))
                ], end: .shutdown([])),
            relaunch(2),
        ])
}
