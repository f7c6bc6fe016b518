"""nginx, which stores every request's body in a file and logs its headers."""

import json
import os

CONFIGURATION = """
{modules}
daemon off;
{user}
worker_processes 1;
error_log {place}/error.log;
pid {place}/nginx.pid;
events {{}}
http {{
    client_max_body_size 0;
    client_body_temp_path {place}/bodies;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
    log_format parts escape=json '{{"body":"$request_body_file","encoding":"$http_content_encoding",'
        '"type":"$http_content_type","protocol":"$server_protocol","status":$status,"port":$server_port}}';
    # A body is read, and therefore stored, only if it is passed on.
    server {{
        listen 127.0.0.1:{end};
        access_log off;
        return 204;
    }}
{servers}
}}
"""

SERVER = """
    server {{
        listen 127.0.0.1:{port}{options};
        access_log {place}/requests.json parts;
        client_body_in_file_only on;
{directives}
        location / {{ proxy_pass http://127.0.0.1:{end}; }}
    }}
"""


class Server:
    """An nginx with a server for each of `kinds`: a dictionary from names to (options of listen, directives). `modules` are the
    paths of modules to load."""

    def __init__(self, machine, name, kinds, modules=()):
        program = machine.need("nginx", "nginx-light")
        self.place = machine.folder(name)
        end, *ports = machine.free_ports(1 + len(kinds))
        self.ports = dict(zip(kinds, ports))
        servers = "".join(
            SERVER.format(port=self.ports[kind], options=options, directives=directives, place=self.place, end=end)
            for kind, (options, directives) in kinds.items())
        user = "user root;" if os.geteuid() == 0 else ""
        path = os.path.join(self.place, "nginx.conf")
        with open(path, "w") as file:
            file.write(CONFIGURATION.format(place=self.place, end=end, servers=servers, user=user,
                                            modules="\n".join(f"load_module {module};" for module in modules)))
        command = [program, "-p", self.place, "-c", path, "-e", f"{self.place}/start.log"]
        machine.start(command, ports[-1], name)

    def requests(self):
        """The requests so far, each with its body as `content`."""
        path = os.path.join(self.place, "requests.json")
        if not os.path.exists(path):
            return []
        with open(path) as file:
            requests = [json.loads(line) for line in file]
        for request in requests:
            with open(request["body"], "rb") as file:
                request["content"] = file.read()
        return requests
