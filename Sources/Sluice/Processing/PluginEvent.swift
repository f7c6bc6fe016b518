/// An event of a plugin that a stage can hold: it continues at the place of that plugin.
package struct PluginEvent: Sendable {
    package let event: Event
    package let plugin: PluginContext
    /// Where its plugin has made it, if another one holds it: it never leaves that pipeline. Nil for an event of the
    /// plugin that holds it, with which it moves.
    package let place: PluginContext.Place?
    /// Whether it continues through all stages of the plugin's chain; otherwise through those below the plugin.
    let isTracked: Bool

    package init(
        _ event: Event, of plugin: PluginContext, at place: PluginContext.Place? = nil, isTracked: Bool = false
    ) {
        (self.event, self.plugin, self.place, self.isTracked) = (event, plugin, place, isTracked)
    }
}

extension PluginContext {
    /// Holds an event of this plugin, or one of another plugin, which only the ledger of its own pipeline counts.
    package func hold(_ new: PluginEvent) -> Disposition {
        // Not when `process` returns: another thread can forward the copy before that.
        // The chain is returned, because the last reference to one must not end with the lock held.
        _ = held.withLock { held in
            if new.place == nil { held.count += 1 }
            let chain = (new.place ?? place.value).chain
            chain?.hold()
            return chain
        }
        return .hold
    }

    /// Lets an event that this plugin holds continue at the place of its plugin.
    package func forward(_ held: PluginEvent) -> Bool {
        release(held, or: .shutDown) { $0.forward(held.event, below: held.isTracked ? nil : $1, of: held.plugin) }
    }

    /// Ends an event that this plugin holds.
    package func drop(_ held: PluginEvent, because reason: DropReason) {
        release(held, or: reason) { $0.drop(held.event, reason, by: $1) }
    }

    /// Runs `body` with the event's place when this plugin no longer holds it. Without a pipeline, it's lost for `reason`.
    @discardableResult
    private func release(_ event: PluginEvent, or reason: DropReason, _ body: (Chain, Int) -> Bool) -> Bool {
        let found: (chain: Chain, index: Int)? = held.withLock { held in
            guard event.place != nil || held.count > 0 else { return nil }
            if event.place == nil { held.count -= 1 }
            for place in [event.place, place.value] {
                if let place, let chain = place.chain { return (chain, place.index) }
            }
            held.lost.add(1, reason)
            return nil
        }
        guard let (chain, index) = found else { return false }
        // Its pipeline is gone, with the ledger: this plugin's one counts it.
        if let place = event.place, place.chain !== chain { chain.adopt(1) }
        return chain.path.storingOneByOne { body(chain, index) }
    }
}
