// A row is one event with its places: a route's file, a dead letter, or a file of collected events.
let gone = new Set(), next = new Set(), deadKeys = new Set(), formerKeys = new Set();
const STATES = {
    arrived: ["arrived", "It is in a file of collected events."],
    waiting: ["waiting", "Its file is in the folder."],
    flight: ["sent next", "Its file is the next one that the host sends, or is being sent: the folder doesn't tell which."],
    delivered: ["delivered", "The host has removed its file: delivered, or rarely evicted or expired."],
    dead: ["dead", "The receiver has rejected it: see the dead letters."],
    removed: ["removed", "It was a dead letter, which was replayed, discarded or evicted."],
};

function stateOf(place, id) {
    if (!place.route) return "arrived";
    const key = `${place.route}/${id}`;
    if (deadKeys.has(key)) return "dead";
    if (formerKeys.has(key)) return "removed";
    if (place.dead) return "dead";
    if (gone.has(place.segment)) return "delivered";
    return next.has(place.segment) ? "flight" : "waiting";
}

// Why an event is where it is, in words.
function reasonOf(state, place) {
    const route = counts?.routes.find(route => route.route === place.route);
    if (state !== "waiting" || !route) return STATES[state][1];
    return sentence(route)[2] || STATES[state][1];
}

// One badge for each state. The routes are named if their states differ.
function showState(row) {
    const badges = row.element?.querySelector(".badges");
    if (!badges) return;
    const routes = new Map();
    for (const place of row.places) {
        const state = stateOf(place, row.id);
        routes.set(state, [...(routes.get(state) ?? []), place.route]);
    }
    const text = JSON.stringify([...routes]);
    if (badges.dataset.states === text) return;
    badges.dataset.states = text;
    badges.replaceChildren(...[...routes].map(([state, names]) => {
        const label = routes.size > 1 ? `${STATES[state][0]}: ${names.join(", ")}` : STATES[state][0];
        const badge = element("bdi", `badge ${state}${routes.size > 1 ? " routed" : ""}`, label);
        badge.title = names.length > 1 ? `${STATES[state][1]} Routes: ${names.join(", ")}.` : STATES[state][1];
        return badge;
    }));
}

function showStates() {
    for (const details of $("events").children) showState(details.row);
}

// The user, and the properties of the host: the automatic ones begin with "$".
function preview(row) {
    const user = ["distinct_id", "login_id", "anonymous_id"].map(id => row.tree?.find(node => node.n === id)?.v).find(id => id);
    const properties = row.tree?.find(node => node.n === "properties")?.c ?? [];
    const own = properties.filter(node => !node.n.startsWith("$"));
    const shown = own.length ? own : properties;
    const parts = shown.slice(0, 8).map(node => `${node.n}=${(node.v ?? node.t).slice(0, 80)}`);
    if (properties.length > shown.length) parts.push(`+${properties.length - shown.length} automatic`);
    return [...(user ? [user.slice(0, 40)] : []), ...parts].join(" ").slice(0, 240);
}

function copyButton(row) {
    const button = element("button", "copy", "Copy as JSON");
    button.addEventListener("click", async () => {
        try {
            await navigator.clipboard.writeText(json({ t: "object", c: row.tree }));
            button.textContent = "Copied";
        } catch (error) {
            button.textContent = `The browser can't copy: ${error.message}`;
        }
    });
    return button;
}

// What is said about each place of an opened event. A route's own processors can have changed its event.
function placeElements(row) {
    return row.places.flatMap(place => {
        const state = stateOf(place, row.id);
        const line = element("p", "place");
        line.append(element("bdi", "name", place.route ?? "collected"), element("span", `badge ${state}`, STATES[state][0]), " ",
            element("bdi", "", reasonOf(state, place)));
        const differs = place.tree && JSON.stringify(place.tree) !== JSON.stringify(row.tree);
        return differs ? [line, tree(place.tree)] : [line];
    });
}

function openElement(row) {
    const opened = element("div", "tree");
    const tools = opened.appendChild(element("div", "tools"));
    if (row.tree) tools.append(copyButton(row));
    const isLetter = row.reason !== undefined;
    if (isLetter && welcome.to && row.id) {
        const button = tools.appendChild(element("button", "", "Replay this event…"));
        button.addEventListener("click", () => replay({ route: row.route, ids: [row.id] }, "this dead letter"));
    }
    if (!isLetter) opened.append(...placeElements(row));
    opened.append(tree(row.tree ?? []));
    return opened;
}

function rowElement(row) {
    const details = element("details", "row");
    details.row = row;
    const isLetter = row.reason !== undefined;
    const summary = details.appendChild(element("summary"));
    summary.append(timeElement(isLetter ? row.at : row.time));
    if (!isLetter) {
        row.element = details;
        summary.append(element("span", "badges"));
        showState(row);
    }
    if (row.critical) summary.append(element("span", "critical", "critical"));
    summary.append(element("bdi", "name", row.event));
    // The end of a UUID differs from event to event, its beginning is the time.
    if (row.id) summary.appendChild(element("span", "id", `…${row.id.slice(-8)}`)).title = row.id;
    summary.append(element("bdi", "preview", preview(row)));
    details.addEventListener("toggle", () => {
        details.querySelector(".tree")?.remove();
        if (details.open) details.append(openElement(row));
    });
    return details;
}
