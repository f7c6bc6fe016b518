// What the hosts say about their routes.
function when(milliseconds) {
    const seconds = Math.round((milliseconds - Date.now()) / 1000);
    return seconds > 0 ? `in ${grouped(seconds)} s, at ${clock(new Date(milliseconds))}` : "now";
}

// The kind, the word and the sentence for the state of a route.
function sentence(route) {
    const failure = route.lastFailure ? `The last failure, known since ${moment(new Date(route.at))}: ${route.lastFailure}.` : "";
    const attempt = route.nextAttempt ? ` The next attempt is ${when(route.nextAttempt)}.` : "";
    const response = route.lastStatus ? `The last response had the status ${route.lastStatus}.` : "";
    const last = failure || response;
    switch (route.state) {
        // Neither the files nor the host tell whether a request is on its way.
        case "ready": return route.waiting
            ? ["good", "ready", `Its host sends when enough events wait, or at the end of its interval. ${last}`]
            : ["good", "up to date", last];
        case "pausing": return ["bad", "retrying", `${failure}${attempt}`];
        case "paused": return ["", "paused", "The host has paused delivery: events wait until it calls resumeDelivery()."];
        case "noNetwork": return ["", "no network", "Events wait for a network that the policy allows."];
        case "running": return ["", "running", "Its host has made no attempt yet."];
        case "ended": {
            const advice = route.waiting ? " The events wait until your program starts, or until you run sluice replay." : "";
            return [route.waiting ? "bad" : "", "ended", `No process delivers this route.${advice} ${last}`];
        }
        default: return ["", route.state, last];
    }
}

function routeElement(route) {
    const line = element("p", "status");
    const [kind, word, text] = sentence(route);
    const numbers = [`${grouped(route.waiting)} waiting`, ...(route.deadLetters ? [counted(route.deadLetters, "dead letter")] : [])];
    line.append(element("bdi", "name", route.route), element("span", `badge ${kind}`, word), ` ${numbers.join(", ")}. `, element("bdi", "", text));
    return line;
}

function showRoutes() {
    if (!counts) return;
    const lines = counts.routes.map(routeElement);
    if (counts.received) {
        const { requests, repeated, refused } = counts.received;
        const line = element("p", "status");
        line.append(element("span", "badge good", "receiving"), ` Send events to ${location.origin}/events. ${counted(requests, "request")} since ${moment(new Date(welcome.since))}: `,
            `${counted(repeated, "event")} arrived again, ${counted(refused, "request")} refused.`);
        lines.unshift(line);
    }
    if (!lines.length) lines.push(element("p", "status note", counts.arrived ? "Events that sluice collect has kept." : "No process uses this folder."));
    $("routes").replaceChildren(...lines);
}
setInterval(showRoutes, 1000);

// A folder of collected events has other counters.
function showCounters() {
    const isCollected = welcome.receives || (counts.arrived && !counts.routes.length);
    const routes = counts.routes.length;
    $("firstLabel").textContent = isCollected ? "Arrived" : routes > 1 ? `Waiting, sum of ${routes} routes` : "Waiting";
    $("secondLabel").textContent = isCollected ? "Users" : "Sent next";
    $("deliveredLabel").textContent = isCollected ? "Sessions" : `Delivered since ${minute(new Date(welcome.since))}`;
    $("fourthLabel").textContent = isCollected ? "Refused requests" : "Dead letters";
    $("deadCard").hidden = isCollected;
    $("refusedCard").hidden = !welcome.receives;
    $("waiting").textContent = grouped(isCollected ? counts.arrived : counts.waiting);
    $("deadLetters").textContent = isCollected ? grouped(counts.received?.refused ?? 0) : grouped(counts.deadLetters);
    if (isCollected) return;
    $("inFlight").textContent = grouped(counts.inFlight);
    $("delivered").textContent = grouped(counts.delivered);
}

// Dead letters, and their replay.
function ask(question) {
    $("question").textContent = question;
    return new Promise(resolve => {
        const dialog = $("ask");
        let isSure = false;
        $("yes").onclick = () => { isSure = true; dialog.close(); };
        $("no").onclick = () => dialog.close();
        // The event of an earlier question's end can come when this one is open.
        dialog.onclose = () => { if (!dialog.open) resolve(isSure); };
        dialog.showModal();
    });
}

async function replay(selection, events) {
    if (!await ask(`Send ${events} of the route ${selection.route} to ${welcome.to} as ${welcome.format}? Events that arrive are removed from the folder.`)) return;
    $("replayNote").textContent = "Sending…";
    try {
        const response = await fetch(`/replay?token=${token}`, { method: "POST", body: JSON.stringify(selection) });
        $("replayNote").textContent = await response.text();
    } catch (error) {
        $("replayNote").textContent = `The inspector can't be reached: ${error.message}`;
    }
}
$("replay").addEventListener("click", () => {
    const route = $("replayRoute").value;
    const count = deadGroups.filter(group => group.route === route).reduce((sum, group) => sum + group.count, 0);
    replay({ route }, `all ${counted(count, "dead letter")}`);
});

// Dead letters with the same route, reason and words of the server are one group. The newest group is the first.
const openGroups = new Map();
let deadGroups = [];
const groupKey = ({ route, reason, response }) => JSON.stringify([route, reason, response]);

function groupElement(group, letters, hasRoutes) {
    const key = groupKey(group);
    const made = element("details", "group");
    made.open = openGroups.get(key) ?? true;
    made.addEventListener("toggle", () => openGroups.set(key, made.open));
    const summary = made.appendChild(element("summary"));
    summary.append(element("span", "badge dead", `${grouped(group.count)} ×`), " ");
    if (hasRoutes) summary.append(element("bdi", "name", group.route));
    summary.append(element("bdi", "reason", group.reason === "(encrypted)" ? "encrypted: only the host can read the reason" : group.reason));
    if (group.response) summary.append(element("bdi", "words", group.response));
    const inside = made.appendChild(element("div", "inside"));
    if (welcome.to && group.count > 1 && !["(encrypted)", "(others)"].includes(group.reason)) {
        const button = inside.appendChild(element("button", "", `Replay these ${grouped(group.count)}…`));
        const { route, reason, response } = group;
        button.addEventListener("click", () => replay({ route, group: { reason, response } }, `these ${counted(group.count, "dead letter")}`));
    }
    inside.append(...letters.map(rowElement));
    if (letters.length < group.count) inside.append(element("p", "note", `Showing the newest ${grouped(letters.length)} of ${grouped(group.count)}.`));
    return made;
}

function showDead(groups, letters) {
    deadGroups = groups;
    const shown = new Map();
    for (const letter of letters.toReversed()) {
        const key = groupKey({ ...letter, reason: letter.reason || "(encrypted)" });
        if (!shown.has(key)) shown.set(key, []);
        shown.get(key).push(letter);
    }
    const keys = new Set(groups.map(groupKey));
    for (const key of openGroups.keys()) if (!keys.has(key)) openGroups.delete(key);
    const routes = [...new Set(groups.map(group => group.route))].sort();
    $("dead").replaceChildren(...groups.map(group => groupElement(group, shown.get(groupKey(group)) ?? [], routes.length > 1 || routeNames.size > 1)));
    if (!groups.length) $("dead").append(element("p", "empty", "The receiver has rejected nothing."));
    const chosen = $("replayRoute").value;
    $("replayRoute").replaceChildren(...routes.map(route => {
        const option = element("option", "", route);
        option.value = route;
        return option;
    }));
    if (routes.includes(chosen)) $("replayRoute").value = chosen;
    $("replayRoute").hidden = !welcome.to || routes.length < 2;
    $("replay").disabled = groups.length === 0;
}

// The requests that the receiver has refused, the newest first.
function showRefused(refusals) {
    const lines = refusals.toReversed().map(refusal => {
        const line = element("div", "refusal");
        line.append(timeElement(refusal.at), element("span", "badge bad", refusal.status ?? "no response"), " ", element("bdi", "reason", refusal.reason));
        if (refusal.events) line.append(element("bdi", "words", `${counted(refusal.events, "event")}: ${refusal.names}`));
        return line;
    });
    $("refused").replaceChildren(...(lines.length ? lines : [element("p", "empty", "Nothing was refused.")]));
}
