@testable import Sluice
@testable import SluiceDelivery

/// A step of the host or the store.
enum HostStep: CaseIterable {
    case flush, flushInTime, delete, erase, lose, evict, stick, failToRead, pause, disconnect, suspend, free, takeBack,
        setFlush
    case shutDown, shutDownNow, close, passTime

    func take(on route: inout SteppedRoute) {
        let now = route.now
        switch self {
        case .flush: route.flush()
        case .flushInTime: route.flush(until: now + .seconds(2))
        case .delete: route.delete()
        case .erase: route.erase()
        case .lose: route.lose()
        case .evict: route.lose(evicts: true)
        case .stick: route.store.isStuck = true
        case .failToRead: route.isUnreadable = true
        case .pause: route.change { $0.setConditions { $0.isPaused = true } }
        case .disconnect: route.change { $0.connectivityChanged(.unavailable) }
        case .suspend: route.change { $0.setConditions { $0.expectSuspension(in: .seconds(3), at: now) } }
        case .free:
            (route.isHeldBack, route.store.isStuck, route.isUnreadable) = (false, false, false)
            route.change {
                $0.setConditions { conditions in
                    conditions.isPaused = false
                    conditions.expectSuspension(in: nil, at: now)
                }
                $0.connectivityChanged(.available)
            }
        case .takeBack: route.takeBack()
        case .setFlush: route.change { $0.setFlush(count: 3, interval: nil) }
        case .shutDown: route.shutDown(deadline: now + .seconds(5))
        case .shutDownNow: route.shutDown(deadline: now)
        case .close: route.change(isInterruption: true) { $0.close() }
        case .passTime: _ = route.passTime()
        }
        if [.stick, .failToRead, .pause, .disconnect, .suspend].contains(self) {
            route.isHeldBack = true
            route.change(isInterruption: true) { _ in }
        }
    }
}

/// A receiver's answer to any part.
enum ReceiverAnswer: CaseIterable {
    case accepted, duplicate, retry, retryAfter, hold, refused, tooLarge, rejected, unsendable
    /// Verdicts by event: one for the first event, and another one for the rest.
    case firstAccepted, firstRejected, firstRetry, firstHold, allDeferred, named
    /// A wrong number of verdicts.
    case wrongCount

    func verdicts(_ count: Int) -> Verdicts {
        func first(_ one: Verdict, _ others: Verdict) -> Verdicts { .each((0..<count).map { $0 == 0 ? one : others }) }
        return switch self {
        case .accepted: .all(.accepted)
        case .duplicate: .all(.duplicate)
        case .retry: .all(.retry(after: nil))
        case .retryAfter: .all(.retry(after: .seconds(60)), status: 503)
        case .hold: .all(.hold(reason: "no"))
        case .refused: .all(.split(reason: "bad"))
        case .tooLarge: .all(.tooLarge())
        case .rejected: .all(.rejected(reason: "bad"))
        case .unsendable: .all(.unsendable(reason: "large"))
        case .firstAccepted: first(.accepted, .rejected(reason: "bad"))
        case .firstRejected: first(.rejected(reason: "bad"), .accepted)
        case .firstRetry: first(.retry(after: .seconds(5)), .accepted)
        case .firstHold: first(.hold(reason: "no"), .split(reason: "bad"))
        case .allDeferred: first(.retry(after: nil), .retry(after: .zero))
        case .named: first(.unsendable(reason: "large"), .retry(after: .seconds(200)))
        case .wrongCount: .each(Array(repeating: .accepted, count: count + 1))
        }
    }
}
