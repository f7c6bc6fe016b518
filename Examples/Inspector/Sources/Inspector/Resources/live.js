// The messages of the inspector.
const source = new EventSource(`/events?token=${token}`);
const on = (name, body) => source.addEventListener(name, event => body(JSON.parse(event.data)));
source.onopen = () => { $("state").textContent = "live"; };
source.onerror = () => { $("state").textContent = "the inspector can't be reached"; };
on("welcome", update => {
    welcome = update;
    $("folder").textContent = welcome.folder;
    $("replay").hidden = !welcome.to;
    if (!welcome.to) $("replayNote").textContent = "To replay from here, start sluice serve with --to and --format.";
    [kept, byID, found, bytes, skipped, scannedState] = [[], new Map(), [], 0, 0, ""];
    [gone, next, deadKeys, formerKeys] = [new Set(), new Set(), new Set(), new Set()];
    $("events").replaceChildren();
    showRefused([]);
});
on("removed", ({ segments }) => {
    for (const segment of segments) gone.add(segment);
    if (gone.size > 2 * KEPT) {
        gone = new Set(kept.flatMap(row => row.places.map(place => place.segment)).filter(segment => gone.has(segment)));
    }
    showStates();
});
on("rows", update => {
    skipped += update.skipped;
    add(update.rows);
});
on("counts", update => {
    const isFirst = !counts;
    counts = update;
    for (const route of counts.routes) addRoute(route.route);
    if (update.next.join() !== [...next].join()) {
        next = new Set(update.next);
        showStates();
    }
    if (isFirst) showRoutes();
    showCounters();
    showEmpty();
    const processes = update.running ? `, at least ${update.running} running process${update.running === 1 ? "" : "es"}` : "";
    $("state").textContent = welcome.receives ? "live" : `live${processes || ", no process runs"}`;
    $("problem").textContent = update.problem ?? (update.damaged ? `damaged lines: ${grouped(update.damaged)}, see sluice verify` : "");
});
on("dead", update => {
    const keys = new Set(update.keys);
    const shown = new Set(kept.flatMap(row => row.places.map(place => `${place.route}/${row.id}`)));
    formerKeys = new Set([...formerKeys, ...deadKeys].filter(key => shown.has(key) && !keys.has(key)));
    deadKeys = keys;
    showDead(update.groups, update.letters);
    showStates();
});
on("refused", update => showRefused(update.refusals));
