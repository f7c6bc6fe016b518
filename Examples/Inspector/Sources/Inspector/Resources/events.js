// The list of events: the newest first, and bounded. `kept` is in the order of the events' times.
let kept = [], byID = new Map(), found = [], bytes = 0, skipped = 0, isPaused = false;
const routeNames = new Set();

// Adds what the search and the filters look at. A property is found as `name=value`, one in an object as `object.name=value`.
function index(row) {
    const lines = [row.event, row.id, row.process];
    const walk = (nodes, path) => {
        for (const node of nodes) {
            if (node.c) walk(node.c, node.n === "properties" && !path ? "" : `${path}${node.n}.`);
            else lines.push(`${path}${node.n}=${node.v}`);
        }
    };
    walk(row.tree ?? [], "");
    row.text = lines.join("\n").toLowerCase();
    const values = names => lines.filter(line => names.some(name => line?.startsWith(`${name}=`)))
        .map(line => line.slice(line.indexOf("=") + 1));
    row.users = values(["distinct_id", "anonymous_id", "login_id"]);
    row.sessions = values(["$session_id", "session_id"]);
}

const FILTERS = { byName: row => [row.event], byUser: row => row.users, bySession: row => row.sessions };
const SELECTS = ["byRoute", "byTime", "byFrom", "byTo"];
const local = (id, missing) => $(id).value ? new Date($(id).value).getTime() : missing;
const earliest = () => Math.max($("byTime").value ? Date.now() - 1000 * $("byTime").value : -Infinity, local("byFrom", -Infinity));
// The second of the end belongs to the range.
const latest = () => local("byTo", Infinity) + 999;

function matches(row) {
    if (row.text === undefined) index(row);
    if (!row.text.includes($("search").value.toLowerCase()) || row.time < earliest() || row.time > latest()) return false;
    const route = $("byRoute").value;
    if (route && !row.places.some(place => place.route === route)) return false;
    return Object.entries(FILTERS).every(([id, values]) => {
        const wanted = $(id).value.toLowerCase();
        return !wanted || values(row).some(value => value.toLowerCase().includes(wanted));
    });
}

const isFiltered = () => ["search", ...Object.keys(FILTERS), ...SELECTS].some(id => $(id).value);

// Adds the place of a row to the event's row if there is one. Returns nil then.
function merged(row, rows) {
    const place = { route: row.route, segment: row.segment, dead: row.dead, tree: row.tree };
    const known = row.id && rows.get(row.id);
    if (!known) {
        row.places = [place];
        if (row.id) rows.set(row.id, row);
        return row;
    }
    const same = known.places.find(other => other.route === place.route);
    if (!same) known.places.push(place);
    else if (place.segment && !place.dead) Object.assign(same, place);
    known.places.sort((a, b) => (a.route !== "main") - (b.route !== "main") || (a.route ?? "").localeCompare(b.route ?? ""));
    if (known.element) showState(known);
}

// Inserts a row in the order of times, from the end: most rows are the newest ones.
function insert(row, rows) {
    let place = rows.length;
    while (place > 0 && (rows[place - 1].time ?? 0) > (row.time ?? 0)) place--;
    rows.splice(place, 0, row);
}

function add(rows) {
    const fresh = [];
    for (const row of rows) {
        if (row.route) addRoute(row.route);
        if (!merged(row, byID)) continue;
        row.size = JSON.stringify(row).length;
        bytes += row.size;
        insert(row, kept);
        fresh.push(row);
    }
    while (kept.length > KEPT || (bytes > KEPT_BYTES && kept.length > 1)) {
        const last = kept.shift();
        bytes -= last.size;
        byID.delete(last.id);
    }
    if (!isPaused) show(fresh.filter(matches).slice(-SHOWN));
}

function addRoute(route) {
    if (routeNames.has(route)) return;
    routeNames.add(route);
    const option = element("option", "", route);
    option.value = route;
    $("byRoute").append(option);
    $("byRoute").hidden = routeNames.size < 2;
    showStates();
}

// Inserts the rows into the list, whose newest row is the first one.
function show(rows) {
    const list = $("events");
    for (const row of rows) {
        let place = list.firstElementChild;
        while (place && (place.row.time ?? 0) > (row.time ?? 0)) place = place.nextElementSibling;
        list.insertBefore(rowElement(row), place);
    }
    // An opened event stays until you close it.
    for (let last = list.lastElementChild; last && list.childElementCount > SHOWN;) {
        const before = last.previousElementSibling;
        if (!last.open) last.remove();
        last = before;
    }
    showShown();
}

function showShown() {
    const list = $("events");
    const more = skipped ? ` Events that came too fast to be shown: ${grouped(skipped)}.` : "";
    const place = Intl.DateTimeFormat().resolvedOptions().timeZone;
    // Events can have arrived since the search.
    const total = isScanCurrent() ? counted(Math.max(scanned.events, list.childElementCount), isFiltered() ? "matching event" : "event") : counted(kept.length, "recent event");
    $("shown").textContent = `Showing ${grouped(list.childElementCount)} of ${total}.${more} Times are local: ${place} (${zone(new Date())}).`;
    showEmpty();
}

function showEmpty() {
    const isEmpty = $("events").childElementCount === 0;
    $("empty").hidden = !isEmpty;
    $("shown").hidden = isEmpty;
    if (!isEmpty) return;
    const folder = $("folder").textContent;
    $("empty").textContent = isFiltered()
        ? "No event matches. Press Escape in the search to see all."
        : welcome.receives
            ? `Nothing has arrived. Send events to ${location.origin}/events, for example with HTTPTransport(to: "${location.origin}/events", format: .ndjson).`
            : counts?.running
                ? "Nothing waits. Track an event in the running process, and it appears here within a second. A fast receiver can have an event before this page sees its file."
                : `Nothing waits, and no process uses this folder. Start your program with JSONLStore(at: "${folder}"), and track an event.`;
}

// All rows that match: recent ones, and the ones that a search has found in the folder.
function showAll() {
    const rows = kept.filter(matches);
    for (const row of found) if (!byID.has(row.id) && matches(row)) insert(row, rows);
    const open = new Set([...$("events").children].filter(details => details.open).map(details => details.row.id));
    $("events").replaceChildren();
    show(rows.slice(-SHOWN));
    for (const details of $("events").children) if (open.has(details.row.id)) details.open = true;
}

for (const id of ["search", ...Object.keys(FILTERS), ...SELECTS]) {
    $(id).addEventListener("input", () => { showAll(); scanSoon(); });
}
for (const [id, values] of Object.entries(FILTERS)) {
    $(id).addEventListener("focus", () => {
        for (const row of kept) if (row.text === undefined) index(row);
        const counted = scanned?.[{ byName: "names", byUser: "users", bySession: "sessions" }[id]].top.map(top => top.text) ?? [];
        const choices = [...new Set([...kept.flatMap(values), ...counted])].sort().slice(0, 200);
        $($(id).getAttribute("list")).replaceChildren(...choices.map(choice => {
            const option = element("option");
            option.value = choice;
            return option;
        }));
    });
}
$("pause").addEventListener("click", () => {
    isPaused = !isPaused;
    $("pause").textContent = isPaused ? "Continue" : "Pause";
    $("pause").setAttribute("aria-pressed", isPaused);
    if (!isPaused) showAll();
});

// Returns whether there was something to clear.
function clearSearch() {
    if (!isFiltered()) return false;
    for (const id of ["search", ...Object.keys(FILTERS), ...SELECTS]) $(id).value = "";
    showAll();
    scanSoon();
    return true;
}

document.addEventListener("keydown", event => {
    if ($("ask").open) return;
    const target = event.target;
    const isSearch = target.id === "search" || target.id in FILTERS || SELECTS.includes(target.id);
    if (event.key === "/" && target.tagName !== "INPUT") {
        event.preventDefault();
        $("search").focus();
    } else if (isSearch && event.key === "Escape") {
        event.preventDefault();
        if (!clearSearch()) document.activeElement.blur();
    } else if (target.id === "search" && event.key === "ArrowDown") {
        event.preventDefault();
        $("events").querySelector("summary")?.focus();
    } else if (target.closest?.("#events") && event.key === "Escape") {
        event.preventDefault();
        clearSearch();
        $("search").focus();
    } else if (target.tagName === "SUMMARY" && ["ArrowDown", "ArrowUp"].includes(event.key)) {
        event.preventDefault();
        const list = target.closest(".list");
        const rows = [...list.querySelectorAll("summary")].filter(row => row.offsetParent && !row.closest(".tree"));
        const place = rows.indexOf(target) + { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (rows[place]) rows[place].focus();
        else if (place < 0 && list.id === "events") $("search").focus();
    }
});
