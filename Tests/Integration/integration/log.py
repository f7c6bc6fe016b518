"""Access logs in the combined format: an independent reader, and a generator of similar lines."""

import calendar
import re
import time

LINE = re.compile(
    rb'^(\S+) \S+ (\S+) \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d+) (\S+) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"?$')


def text(field):
    """The text as in the AccessLog example: UTF-8, or each byte beyond ASCII as an escape."""
    try:
        return field.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"\\x{byte:X}" for byte in field)


def milliseconds(field):
    moment, zone = field.decode().split(" ")
    seconds = calendar.timegm(time.strptime(moment, "%d/%b/%Y:%H:%M:%S"))
    offset = int(zone[1:3]) * 3_600 + int(zone[3:]) * 60
    return (seconds - (offset if zone[0] == "+" else -offset)) * 1_000


def event(line):
    """The expected event of a line: the time, the client and the properties."""
    client, user, moment, request, status, count, referrer, agent = LINE.match(line).groups()
    words = request.split(b" ", 2)
    properties = {
        "method": text(words[0]), "status": int(status), "bytes": int(count) if count.isdigit() else 0,
        "referrer": text(referrer), "user_agent": text(agent),
    }
    if len(words) > 1:
        properties["path"] = text(words[1])
    if len(words) > 2:
        properties["protocol"] = text(words[2])
    if user != b"-":
        properties["user"] = text(user)
    return {"time": milliseconds(moment), "client": text(client), "properties": properties}


def made(random, count):
    """Lines similar to those of a public web server, some of them odd."""
    paths = ["/", "/index.html", "/images/a%20b.png", "/search?q=caf\u00e9&n=1", "/a/\\\"quoted\\\"", "/" + "deep/" * 40]
    agents = ["Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "curl/7.88.1", "-", "\u00fcber \\\"bot\\\"/1.0"]
    lines = []
    for number in range(count):
        moment = time.strftime("%d/%b/%Y:%H:%M:%S", time.gmtime(1_431_857_103 + number * 7))
        zone = random.choice(["+0000", "+0000", "-0730", "+0100"])
        client = f"{random.randrange(1, 224)}.{random.randrange(256)}.{random.randrange(256)}.1"
        user = random.choice(["-", "-", "-", "frank"])
        request = random.choice(["GET", "GET", "GET", "POST", "HEAD"]) + f" {random.choice(paths)}?n={number} HTTP/1.1"
        status = random.choice(["200", "200", "200", "304", "404", "500"])
        size = random.choice(["-", str(random.randrange(1_000_000))])
        # A firewall refuses the last one, as it refuses some lines of a real log.
        referrers = ["-", "http://example.com/a?b=c&d", "http://example.com/?q=<script>alert(1)</script>"]
        referrer = random.choices(referrers, [25, 24, 1])[0]
        line = f'{client} - {user} [{moment} {zone}] "{request}" {status} {size} "{referrer}" "{random.choice(agents)}"'
        lines.append(line.encode())
    return lines
