// The counts of the events that match the filters, from a search in the whole folder.
let scanned = null, scan = null, scanTimer = null, scanTime = 0, scannedState = "", countsTab = "names";

function scanSoon(delay = 300) {
    if (!isScanCurrent()) $("scanNote").textContent = "Searching the folder…";
    clearTimeout(scanTimer);
    scanTimer = setTimeout(runScan, delay);
}

// Whether the result is that of the filters as they are now.
const isScanCurrent = () => scanned && scanned.filters === filterState();
const filterState = () => ["search", ...Object.keys(FILTERS), ...SELECTS].map(id => $(id).value).join("\n");

// The folder has changed since the last search when this has.
const folderState = () => counts && [counts.waiting, counts.arrived, counts.deadLetters, counts.appended, counts.delivered].join();

function scanParameters() {
    const names = { text: "search", name: "byName", user: "byUser", session: "bySession", route: "byRoute" };
    const parameters = new URLSearchParams(Object.entries(names).map(([name, id]) => [name, $(id).value]));
    if (earliest() > -Infinity) parameters.set("from", Math.floor(earliest()));
    if (latest() < Infinity) parameters.set("to", latest());
    return parameters.toString().replaceAll("+", "%20");
}

async function runScan() {
    scan?.abort();
    const mine = scan = new AbortController();
    const [start, state, filters] = [performance.now(), folderState(), filterState()];
    try {
        const response = await fetch(`/scan?token=${token}&${scanParameters()}`, { signal: mine.signal });
        if (!response.ok) throw new Error(await response.text());
        let rest = "";
        for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
            const lines = (rest + text).split("\n");
            rest = lines.pop();
            for (const line of lines) showScan(JSON.parse(line), filters);
        }
        [scannedState, scanTime] = [state, performance.now() - start];
    } catch (error) {
        if (error.name !== "AbortError") $("scanNote").textContent = `The folder can't be searched: ${error.message}`;
    } finally {
        if (scan === mine) scan = null;
    }
}

// A folder that takes long to read is searched less often.
setInterval(() => {
    if (!scan && counts && folderState() !== scannedState && performance.now() > lastScan + Math.max(2000, Math.min(15000, 3 * scanTime))) runScan();
}, 500);
let lastScan = 0;

function showScan({ progress, result }, filters) {
    if (progress) {
        const bar = element("progress");
        [bar.max, bar.value] = [progress.total || 1, progress.bytes];
        const part = Math.floor(100 * progress.bytes / (progress.total || 1));
        $("scanNote").replaceChildren(`Searching the folder: ${part} % `, bar);
        return;
    }
    lastScan = performance.now();
    scanned = { ...result, filters };
    const rows = new Map();
    found = result.rows.filter(row => {
        if (row.route) addRoute(row.route);
        return merged(row, byID.has(row.id) ? byID : rows);
    });
    showNote();
    showCounts();
    showChart();
    if (isFiltered() || kept.length < SHOWN) showAll();
    else showShown();
}

function showNote() {
    const { events, names, users, sessions, unreadable, problem } = scanned;
    const many = (counts, noun) => (counts.others ? "at least " : "") + (noun ? counted(counts.distinct, noun) : grouped(counts.distinct));
    const parts = [counted(events, isFiltered() ? "matching event" : "event"), many(names, "name"), many(users, "user"), many(sessions, "session")];
    if (unreadable) parts.push(`${grouped(unreadable)} damaged or encrypted`);
    $("scanNote").textContent = problem ?? `${parts.join(", ")}.`;
    if (welcome.receives || (counts && !counts.routes.length)) {
        $("inFlight").textContent = many(users);
        $("delivered").textContent = many(sessions);
    }
}

function showCounts() {
    const { top, distinct } = scanned[countsTab];
    const most = Math.max(1, ...top.map(({ count }) => count));
    const field = { names: "byName", users: "byUser", sessions: "bySession" }[countsTab];
    const lines = top.map(({ text, count }) => {
        const line = element("button", "count");
        const bar = element("i");
        bar.style.width = `${100 * count / most}%`;
        line.append(element("bdi", "", text), element("b", "", grouped(count)), bar);
        line.addEventListener("click", () => {
            $(field).value = text;
            showAll();
            scanSoon(0);
        });
        return line;
    });
    if (distinct > top.length) lines.push(element("p", "note", `and ${grouped(distinct - top.length)} more`));
    if (!top.length) lines.push(element("p", "empty", `No event has ${{ names: "a name", users: "a user", sessions: "a session" }[countsTab]}.`));
    $("counts").replaceChildren(...lines);
}

const TABS = { tabNames: "names", tabUsers: "users", tabSessions: "sessions" };
for (const [id, tab] of Object.entries(TABS)) {
    $(id).addEventListener("click", () => {
        countsTab = tab;
        for (const other of Object.keys(TABS)) $(other).setAttribute("aria-selected", other === id);
        if (scanned) showCounts();
    });
}

// The chart: the events of the search by their own times.
let periods = [];

function showChart() {
    const { times, width } = scanned;
    const svg = $("plot").querySelector("svg");
    const first = times[0]?.[0], last = times.at(-1)?.[0];
    const step = Math.max(1, Math.ceil(((last - first) / width + 1) / 120));
    const sums = new Map();
    for (const [time, count] of times) {
        const place = Math.floor((time - first) / width / step);
        sums.set(place, (sums.get(place) ?? 0) + count);
    }
    // One period doesn't fill the whole width.
    const many = Math.max(30, ...[...sums.keys()].map(place => place + 1)), most = Math.max(1, ...sums.values());
    periods = [...sums].map(([place, count]) => ({ from: first + place * step * width, length: step * width, count, place }));
    svg.replaceChildren(...periods.map(period => {
        const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        const height = Math.max(1, 39 * period.count / most);
        for (const [name, value] of Object.entries({ x: 240 * period.place / many, width: Math.max(.6, 240 / many - .4), y: 40 - height, height })) bar.setAttribute(name, value);
        period.bar = bar;
        return bar;
    }));
    svg.dataset.periods = many;
    const end = new Date(first + many * step * width);
    $("chartFrom").textContent = times.length ? moment(new Date(first)) : "";
    // A date that JavaScript doesn't know has no text.
    $("chartTo").textContent = times.length && !isNaN(end) ? moment(end) : "";
    showReading();
}

const span = milliseconds => {
    const units = [[86400000, "day"], [3600000, "hour"], [60000, "minute"], [1000, "second"]];
    const [length, name] = units.find(([length]) => milliseconds >= length) ?? units.at(-1);
    return counted(Math.round(10 * milliseconds / length) / 10, name);
};

function showReading(pointed) {
    for (const period of periods) period.bar.classList.toggle("pointed", period === pointed);
    $("reading").textContent = pointed
        ? `${counted(pointed.count, "event")} in ${span(pointed.length)} from ${moment(new Date(pointed.from))}`
        : periods.length ? `${counted(scanned.events, "event")} by their time` : "No events";
}
$("plot").querySelector("svg").addEventListener("pointermove", event => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = Math.floor((event.clientX - box.left) / box.width * event.currentTarget.dataset.periods);
    showReading(periods.find(period => period.place === place));
});
$("plot").querySelector("svg").addEventListener("pointerleave", () => showReading());
