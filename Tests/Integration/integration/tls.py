"""Certificates: valid ones, and invalid ones whose servers must not receive an event."""

import os
import subprocess

from . import nginx
from .machine import Failed, Impossible, same
from .sink import events


class Authority:
    def __init__(self, machine, name):
        self.openssl = machine.need("openssl", "openssl")
        self.place = machine.folder(name)
        self.certificate = os.path.join(self.place, "ca.pem")
        self._run("req", "-x509", *self._new_key("ca"), "-out", "ca.pem", "-days", "2", "-subj", f"/CN=Sluice {name}")

    def issue(self, name, names, days=2):
        """Returns the paths of a certificate for `names` and of its key."""
        with open(os.path.join(self.place, f"{name}.ext"), "w") as file:
            file.write(f"subjectAltName={names}\n")
        self._run("req", *self._new_key(name), "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", f"{name}.ext"]
        self._run("x509", "-req", "-in", f"{name}.csr", *signer, "-out", f"{name}.pem", "-days", str(days))
        return os.path.join(self.place, f"{name}.pem"), os.path.join(self.place, f"{name}.key")

    @staticmethod
    def _new_key(name):
        return ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key"]

    def _run(self, *arguments):
        run = subprocess.run([self.openssl, *arguments], cwd=self.place, capture_output=True, text=True)
        if run.returncode != 0:
            raise Impossible(f"openssl {arguments[0]}: {run.stderr}")


def run(machine):
    """Only a server with a valid certificate of a known authority receives events."""
    authority = Authority(machine, "authority")
    stranger = Authority(machine, "stranger")
    here = "DNS:localhost,IP:127.0.0.1"
    kinds = {
        "good": authority.issue("good", here),
        "expired": authority.issue("expired", here, days=-1),
        "wrong name": authority.issue("wrong", "DNS:other.example"),
        "unknown authority": stranger.issue("unknown", here),
    }
    server = nginx.Server(machine, "nginx-tls", {
        kind: (" ssl http2", f"        ssl_certificate {certificate};\n        ssl_certificate_key {key};")
        for kind, (certificate, key) in kinds.items()})
    lines = machine.requests[:100]
    trials = machine.trials(full=50, default=1)
    urls = {kind: f"https://127.0.0.1:{port}/events" for kind, port in server.ports.items()}
    # The last one is valid, but this system doesn't know its authority.
    refused = [("expired", authority.certificate), ("wrong name", authority.certificate),
               ("unknown authority", authority.certificate), ("good", None)]
    arrived = 0
    for _ in range(trials):
        for kind, authorities in refused:
            store = machine.folder("store")
            before = len(server.requests())
            status, counts, said = machine.deliver(lines, urls[kind], "gzip", store, 0, authorities)
            same(f"delivered and waiting, {kind}", (status, counts["delivered"], counts["waiting"]), (2, 0, len(lines)))
            same(f"requests, {kind}", len(server.requests()), before)
            if "certificate" not in said:
                raise Failed(f"no message gives the reason, {kind}: {said}")
            status, counts, said = machine.deliver([], urls["good"], "gzip", store, 30, authority.certificate)
            same(f"delivered after all, {kind}", (status, counts["delivered"]), (0, len(lines)))
            arrived += len(lines)
    requests = server.requests()
    same("protocols", {request["protocol"] for request in requests}, {"HTTP/1.1"})
    same("ports", {request["port"] for request in requests}, {server.ports["good"]})
    ids = [event["id"] for event in events(requests)]
    same("events, and different ones", (len(ids), len(set(ids))), (arrived, arrived))
    return (f"{trials} times each: expired, another's name, an unknown authority, an authority unknown to the system: "
            f"no event was sent; {arrived} events arrived at the good one later")
