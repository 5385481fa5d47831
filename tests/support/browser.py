"""A real browser without a window: what a page shows, and what it asks the network for."""

import contextlib
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import matplotlib.image
import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome")
TALLEST = 14_000  # pixels: screenshots of more than 16384 come out cut off
NOWHERE = "http://127.0.0.1:9/"  # a port that browsers refuse to ask
QUIET = (  # what a browser requests on its own is not what the page requests
    "--component-updater=url-source=" + NOWHERE,
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,"
    "NetworkTimeServiceQuerying",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--gaia-url=" + NOWHERE,
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
)
# Of its maker, and asked all the same by some versions; no page gets scripts or fonts from there.
ITS_OWN = ("accounts.google.com", "clients2.google.com", "update.googleapis.com", "redirector.gvt1.com")


class NoBrowser(RuntimeError):
    """There is no browser, and none can be installed here."""


@cache
def browser() -> str:
    """Return the path of a browser, which Debian's tools install if there is none."""
    found = _found()
    if found:
        return found
    if not shutil.which("apt-get"):
        raise NoBrowser(f"none of {', '.join(NAMES)} is on the path, and there is no apt-get to install one")
    may = [] if os.geteuid() == 0 else [shutil.which("sudo") or "", "-n"]
    if may and not may[0]:
        raise NoBrowser(f"none of {', '.join(NAMES)} is on the path, and only root or sudo could install one")
    import fcntl  # there is apt-get, so this is no Windows, which has none

    with (Path(tempfile.gettempdir()) / "paribus-installs-a-browser").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # processes of the same tests wait for the first
        found = _found() or _installed(may)
    if not found:
        raise RuntimeError("apt-get installed chromium, but it is not on the path")
    return found


def _installed(may: list[str]) -> str | None:
    for step in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
        # Nobody is there to answer what a package may ask.
        asked = [*may, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *step]
        done = subprocess.run(asked, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(f"apt-get {' '.join(step)} failed, so there is no browser:\n{done.stderr}")
    return _found()


def _found() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


def _run(*options: str, timeout: float) -> str:
    """Run the browser in a folder of its own until it is done, and return what it wrote."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        basics = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
        command = [browser(), *basics, *QUIET, f"--user-data-dir={folder}", *options]
        started = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            written, complaints = started.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, 9)  # the browser and its children, a session of their own
            started.communicate()
            raise
        if started.returncode:
            raise RuntimeError(f"the browser ended with {started.returncode}:\n{complaints}")
        return written


def screenshot(page: Path, target: Path, width: int, height: int, timeout: float = 90) -> Path:
    """Write what a page of some size in pixels looks like."""
    _run(
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        f"--window-size={width},{height}",
        f"--screenshot={target}",
        "--virtual-time-budget=10000",
        Path(page).resolve().as_uri(),
        timeout=timeout,
    )
    if not target.exists():
        raise RuntimeError(f"the browser took no picture of {page}")
    return target


def opened(page: Path, timeout: float = 90) -> tuple[str, list[str]]:
    """Open a page and return what it became (HTML), and the first line of every request it made."""
    with recorder() as (port, requests):
        became = _run(
            f"--proxy-server=127.0.0.1:{port}",
            "--proxy-bypass-list=<-loopback>",  # not even this machine is evaluated behind our back
            "--virtual-time-budget=10000",
            "--dump-dom",
            Path(page).resolve().as_uri(),
            timeout=timeout,
        )
    return became, [request for request in requests if not any(host in request for host in ITS_OWN)]


@contextlib.contextmanager
def recorder() -> Iterator[tuple[int, list[str]]]:
    """Listen as a proxy that writes down every request and answers none; yields its port and the list."""
    requests: list[str] = []

    class Refuse(http.server.BaseHTTPRequestHandler):
        def refuse(self) -> None:
            requests.append(self.requestline)
            with contextlib.suppress(ConnectionError):  # a browser that is done does not wait for answers
                self.send_error(502)

        do_GET = do_POST = do_PUT = do_HEAD = do_OPTIONS = do_CONNECT = refuse

        def log_message(self, *_: object) -> None:
            """Keep the terminal to the tests."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuse)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def crops(figures: dict[str, object], folder: Path) -> dict[str, Path]:
    """Write one PNG for each plotly figure, many from one screenshot: starting a browser is what takes long."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for names in sheets(figures):
        written |= _crop({name: figures[name] for name in names}, folder)
    return written


def sheets(figures: dict[str, object]) -> Iterator[list[str]]:
    """Yield the names of figures that fit on one screenshot together."""
    names: list[str] = []
    taken = 0
    for name, figure in figures.items():
        if names and taken + figure.layout.height > TALLEST:
            yield names
            names, taken = [], 0
        names.append(name)
        taken += figure.layout.height
    if names:
        yield names


def _crop(figures: dict[str, object], folder: Path) -> dict[str, Path]:
    width = max(figure.layout.width for figure in figures.values())
    height = sum(figure.layout.height for figure in figures.values())
    with tempfile.TemporaryDirectory() as scratch:
        page, sheet = Path(scratch) / "page.html", Path(scratch) / "sheet.png"
        page.write_text(stacked(list(figures.values())), encoding="utf-8")
        pixels = matplotlib.image.imread(screenshot(page, sheet, width, height))
    written, top = {}, 0
    for name, figure in figures.items():
        tall, wide = figure.layout.height, figure.layout.width
        written[name] = folder / f"{name}.png"
        matplotlib.image.imsave(written[name], np.ascontiguousarray(pixels[top : top + tall, :wide]))
        top += tall
    return written


def stacked(figures: list[object]) -> str:
    """Return a page of figures one below the other, which needs nothing else."""
    still = {"displayModeBar": False}
    parts = [
        figure.to_html(full_html=False, include_plotlyjs=number == 0, config=still)
        for number, figure in enumerate(figures)
    ]
    boxes = [
        f'<div style="height:{figure.layout.height}px;overflow:hidden">{part}</div>'
        for figure, part in zip(figures, parts, strict=True)
    ]
    style = "<style>body{margin:0}</style>"
    return (
        f'<!doctype html><html><head><meta charset="utf-8">{style}</head><body>{"".join(boxes)}</body></html>'
    )
