"""Guessed tokens of the inspector, at several servers."""

import http.client
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

from .books import Books, Figures
from .machine import Impossible

# More than the requests that the inspector delays at a time, which the others don't wait for.
CONNECTIONS = 100
DIGITS = "0123456789abcdef"


def run(machine):
    """Changes each digit of the token, guesses random ones, and sends them to all paths."""
    sluice = os.environ.get("SLUICE_INSPECTOR")
    if not sluice:
        raise Impossible("SLUICE_INSPECTOR names no built inspector")
    figures = Figures("tokens")
    for seed in machine.seeds(machine.trials(full=8, default=1)):
        directory = machine.directory("tokens")
        os.mkdir(directory)
        problems = guess(machine, figures, sluice, directory, machine.random("tokens", seed))
        figures.trial(Books(), seed, problems=problems)
        machine.discard(directory, failed=bool(problems))
    return figures.report()


def guess(machine, figures, sluice, directory, random):
    server = subprocess.Popen(
        [sluice, "serve", directory, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    machine.watch(server)
    url = urlsplit(server.stdout.readline().strip())
    token = parse_qs(url.query)["token"][0]
    changed = [token[:place] + digit + token[place + 1:]
               for place in range(len(token)) for digit in DIGITS + "zA\0~" if digit != token[place]]
    near = ["", token[:-1], token[1:], token + "0", token.upper() + " ", token[::-1]]
    random_ones = ["".join(random.choices(DIGITS, k=len(token)))
                   for _ in range(10_000 if machine.is_full else 1_000)]
    guesses = [guess for guess in changed + near + random_ones if guess != token]
    requests = [(guess, *random.choice((("GET", "/"), ("GET", "/events"), ("POST", "/replay")))) for guess in guesses]
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        statuses = list(pool.map(lambda request: status(url, *request), requests))
    right = status(url, token, "GET", "/")
    server.terminate()
    server.wait()
    figures.count(guesses=len(guesses), refused=statuses.count(403))
    problems = [f"{method} {path} with {guess!r} of {token} has status {found}"
                for (guess, method, path), found in zip(requests, statuses) if found != 403]
    if right != 200:
        problems.append(f"the right token has status {right}")
    return problems[:5]


def status(url, token, method, path):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    headers = {"Origin": f"http://{url.netloc}"} if method == "POST" else {}
    quoted = "".join(c if c.isalnum() else f"%{ord(c):02x}" for c in token)
    try:
        connection.request(method, f"{path}?token={quoted}", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()
