"""A browser that is driven: one process for many pages, commands and events over a pipe, without a package."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time

import browser

PATIENCE = 60.0  # seconds for one command: a busy machine is slow
# The browser reads commands from file 3 and writes to file 4: puts two files there and becomes the browser.
PLACED = """
import os, sys
low = [os.dup(0) for _ in range(6)]  # so that no copy has one of the two numbers
high = [os.dup(int(file)) for file in sys.argv[1:3]]
for place, file in enumerate(high, 3):
    os.dup2(file, place)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Tab:
    """A page of the browser."""

    def __init__(self, chrome, session):
        self.chrome, self.session = chrome, session
        self.events = []

    def call(self, method, **parameters):
        """Send a command and return its result."""
        return self.chrome.call(method, self, **parameters)

    def run(self, expression):
        """Return the value of an expression, promises awaited."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression[:80]}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def open(self, address, *, scripts=True, width=1280, height=900, dark=False):
        """Load a page, and wait until it is loaded."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.chrome.wait(lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))

    def resize(self, width, height):
        """Set the size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def press(self, key, code, text=None):
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            parts = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **parts)

    def complaints(self):
        """Return what the page wrote to the console, and what was logged of it."""
        told = [
            event for event in self.events if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")
        ]
        written = [event for event in self.events if event["method"] == "Runtime.consoleAPICalled"]
        return [json.dumps(event["params"])[:500] for event in (*told, *written)]


class Chrome:
    """A browser without a window; a context manager."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.write = os.pipe()
        self.read, answers = os.pipe()
        basics = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
        command = [
            browser.browser(),
            *basics,
            *browser.QUIET,
            f"--user-data-dir={self.folder.name}",
            *self.options,
        ]
        started = [sys.executable, "-S", "-c", PLACED, str(commands), str(answers), *command]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            [*started, "--remote-debugging-pipe", "about:blank"],
            pass_fds=(commands, answers),
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self.number, self.rest, self.tabs, self.answers = 0, b"", {}, {}
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError, TimeoutError):
            self.call("Browser.close")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)  # the browser and its children, a session of their own
            self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.folder.cleanup()

    def tab(self):
        """Return a new page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self.tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            tab.call(f"{domain}.enable")
        return tab

    def call(self, method, tab=None, **parameters):
        """Send a command and return its result."""
        self.number += 1
        own = self.number
        message = {"id": own, "method": method, "params": parameters}
        if tab is not None:
            message["sessionId"] = tab.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data) :]
        self.wait(lambda: own in self.answers)
        answer = self.answers.pop(own)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait(self, happened):
        """Read what the browser says until something has happened."""
        end = time.monotonic() + PATIENCE
        while not happened():
            ready, _, _ = select.select([self.read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser said nothing for {PATIENCE:.0f} s")
            chunk = os.read(self.read, 1 << 20)
            if not chunk:
                raise OSError("the browser ended")
            *messages, self.rest = (self.rest + chunk).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self.answers[message["id"]] = message
                elif message.get("sessionId") in self.tabs:
                    self.tabs[message["sessionId"]].events.append(message)
