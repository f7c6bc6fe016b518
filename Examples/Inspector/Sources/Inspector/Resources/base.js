"use strict";
// Everything that comes from an event is set as text, never as HTML.
const KEPT = 2000, KEPT_BYTES = 16e6, SHOWN = 300;
const $ = id => document.getElementById(id);
const token = encodeURIComponent(new URLSearchParams(location.search).get("token") ?? "");

function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
}

const grouped = number => number.toLocaleString("en");
const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

// The tree of an event. Each value has its type.
function tree(nodes) {
    const list = element("ul");
    for (const node of nodes) {
        const item = list.appendChild(element("li"));
        if (node.c) {
            const details = item.appendChild(element("details"));
            details.open = true;
            const count = `${node.t} of ${node.c.length}`;
            details.appendChild(element("summary")).append(element("bdi", "key", node.n), element("em", "type", count));
            details.append(tree(node.c));
        } else {
            item.append(element("bdi", "key", node.n), ": ", element("bdi", "", node.v), element("em", "type", node.t));
        }
    }
    return list;
}

// The event as JSON. The text of a number is kept as it is, because JavaScript would round it.
function json(node) {
    if (node.t === "object") return `{${node.c.map(child => `${JSON.stringify(child.n)}:${json(child)}`).join()}}`;
    if (node.t === "array") return `[${node.c.map(json).join()}]`;
    return ["int", "double", "bool", "null"].includes(node.t) ? node.v : JSON.stringify(node.v);
}

// Times are local; the title also has the zone and UTC.
const padded = (number, width = 2) => String(number).padStart(width, "0");
const day = date => `${date.getFullYear()}-${padded(date.getMonth() + 1)}-${padded(date.getDate())}`;
const minute = date => `${padded(date.getHours())}:${padded(date.getMinutes())}`;
const clock = date => `${minute(date)}:${padded(date.getSeconds())}`;
const zone = date => new Intl.DateTimeFormat("en", { timeZoneName: "shortOffset" }).formatToParts(date)
    .find(part => part.type === "timeZoneName").value;
const isToday = date => day(date) === day(new Date());
// The clock today, otherwise the day too.
const moment = date => isToday(date) ? clock(date) : `${day(date)} ${minute(date)}`;

function timeElement(milliseconds) {
    const date = new Date(milliseconds ?? NaN);
    const made = element("time", "", "–");
    if (isNaN(date)) return made;
    made.textContent = isToday(date) ? `${clock(date)}.${padded(date.getMilliseconds(), 3)}` : `${day(date)} ${minute(date)}`;
    made.title = `${day(date)} ${clock(date)}.${padded(date.getMilliseconds(), 3)} ${zone(date)} (${date.toISOString()})`;
    return made;
}

// What the inspector told when the page connected, and the latest counts.
let welcome = {}, counts = null;
