"""Controls Chromium for tests of pages, through its debugging pipe, so that nothing but Python's own library is needed."""
import base64
import json
import os
import pathlib
import signal
import subprocess
import time


class Refused(RuntimeError):
    """Chromium did not carry out a command."""


class Browser:
    """One page of Chromium."""

    def __init__(self, folder):
        inward, self.outward = os.pipe()
        self.inward, outward = os.pipe()
        # Chromium reads descriptor 3 and writes to descriptor 4.
        arguments = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--remote-debugging-pipe", f"--user-data-dir={folder}", "--window-size=1200,800", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec 8<&{inward} 9>&{outward}; exec 3<&8 4>&9; exec "$@"', "bash", *arguments],
            pass_fds=[inward, outward], stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(inward)
        os.close(outward)
        self.buffer, self.number, self.session, self.target, self.faults = b"", 0, None, None, []

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.outward, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Refused(f"{method}: {answer['error']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.buffer:
            data = os.read(self.inward, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(text)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.faults.append(parameters["exceptionDetails"]["text"])
        if method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.faults.append(parameters["entry"]["text"])
        return message

    def open(self, url):
        """Opens a page, and closes the one before, which would report the end of its server."""
        self.session, before = None, self.target
        self.target = self.send("Target.createTarget", url="about:blank")["targetId"]
        if before:
            self.send("Target.closeTarget", targetId=before)
        self.session = self.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ["Runtime", "Log", "Page"]:
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=1200, height=800, deviceScaleFactor=1, mobile=False)
        self.send("Page.navigate", url=url)

    def evaluate(self, script):
        result = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, script, what, seconds=60):
        """Waits until the page has loaded and the script returns something true, and returns how long that took."""
        start, refusal = time.monotonic(), ""
        while time.monotonic() - start < seconds:
            try:
                # A page that has not loaded yet can lack the elements that the script asks for.
                if self.evaluate(f"""(() => {{
                    try {{ return document.readyState == 'complete' && !!({script}) }} catch {{ return false }}
                }})()"""):
                    return time.monotonic() - start
                refusal = ""
            except Refused as error:
                # Chromium refuses a script while one page replaces another.
                refusal = f"\n{error}"
            time.sleep(0.01)
        raise SystemExit(f"not within {seconds} s: {what}{refusal}\n{self.evaluate('document.body.innerText')[:2000]}")

    def press(self, key, code=0, text=""):
        for kind in ["keyDown", "keyUp"]:
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra)

    def busy(self):
        """Returns the seconds for which the page has worked."""
        metrics = self.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def screenshot(self, path):
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        pathlib.Path(path).write_bytes(data)
        print(f"{path}: {len(data)} bytes")

    def close(self):
        """Ends Chromium with all its processes, which would otherwise still write into the folder."""
        self.process.terminate()
        self.process.wait()
        end = time.monotonic() + 10
        # Where nobody collects orphans, the group remains although its processes have ended.
        while time.monotonic() < end:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            time.sleep(0.01)
