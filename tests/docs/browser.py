"""The status page in a real browser, without JavaScript in it: is it readable on a phone, in light and
in dark, and does it renew itself? Arguments: the browser, a page, and where to put screenshots (none:
nowhere). The page is served as the monitor serves it, with its headers; a second page of this test's own
looks at it in frames of 360 and 1280 pixels. Prints one "ok - " or "not ok - " for each fact."""
import http.server
import json
import re
import subprocess
import sys
import tempfile
import threading
import time

browser, page_path = sys.argv[1:3]
shots = sys.argv[3] if len(sys.argv) > 3 else None
page = open(page_path, "rb").read()
loads = []

# frame-ancestors of the real header keeps the page out of frames; everything else is the same.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
LOOK = """<!DOCTYPE html><meta charset=utf-8><body>
<iframe id=a src=/page width=360 height=3000 style="border:0"></iframe>
<iframe id=b src=/page width=1280 height=3000 style="border:0"></iframe><pre id=out></pre><script>
onload = () => {
  const widths = {};
  for (const id of ["a", "b"]) {
    const frame = document.getElementById(id), d = frame.contentDocument;
    let wide = [];
    for (const e of d.querySelectorAll("body *"))
      if (e.getBoundingClientRect().right > frame.clientWidth + 0.5) wide.push(e.tagName + ":" + e.textContent.slice(0, 30));
    widths[id] = {frame: frame.clientWidth, scroll: d.documentElement.scrollWidth, wide: wide.slice(0, 3),
      height: d.documentElement.scrollHeight, plot: d.querySelector("svg path").getTotalLength(),
      text: d.body.innerText.length, back: getComputedStyle(d.body).backgroundColor};
  }
  document.getElementById("out").textContent = "RESULT" + JSON.stringify(widths) + "END";
};
</script>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path in ("/page", "/look") else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        if self.path == "/page":
            self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        loads.append(self.path)
        self.wfile.write(page if self.path == "/page" else LOOK.encode() if self.path == "/look" else b"")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """A browser that is ended goes in the middle of an answer: no news."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def start(profile, *arguments):
    return subprocess.Popen(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
         "--user-data-dir=" + profile, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def run(*arguments):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        return start(profile, *arguments).communicate(timeout=300)[0]


def look(*dark):
    found = re.search(r"RESULT(\{.*?\})END</pre>", run("--dump-dom", *dark, address + "/look"), re.S)
    return json.loads(found.group(1)) if found else None


def renews():
    """Is it loaded again while a browser has it open? Its policy lets no script run."""
    before = loads.count("/page")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        open_one = start(profile, "--remote-debugging-port=0", address + "/page")
        for _ in range(600):
            if loads.count("/page") >= before + 3:
                break
            time.sleep(0.2)
        open_one.terminate()
        open_one.communicate(timeout=60)
    return loads.count("/page") - before


def say(good, what, why):
    print(f"ok - {what}" if good else f"not ok - {what}: {why}")
    return good


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_address[1]}"
good = True
for scheme, dark in (("light", []), ("dark", ["--blink-settings=preferredColorScheme=0"])):
    # A page that renews itself at the very moment that it is looked at has nothing to measure.
    seen = next(filter(None, (look(*dark) for _ in range(4))), None)
    if not seen:
        good = say(False, f"the page is shown, {scheme}", "the browser said nothing")
        continue
    for frame, width in (("a", 360), ("b", 1280)):
        s = seen[frame]
        good &= say(s["scroll"] <= width and not s["wide"], f"nothing is wider than {width} pixels, {scheme}", s)
        good &= say(s["text"] > 500 and s["plot"] > 100, f"text and plot are drawn at {width} pixels, {scheme}", s)
    brightness = sum(map(int, re.findall(r"\d+", seen["a"]["back"])[:3]))
    good &= say((brightness < 200) == (scheme == "dark"), f"the ground is {scheme} where that is preferred", seen["a"]["back"])
times = renews()
good &= say(times >= 3, "the page renews itself, without JavaScript", f"it was loaded {times} times")
good &= say(set(loads) <= {"/page", "/look", "/favicon.ico"}, "the page asks for nothing else", sorted(set(loads)))
if shots:
    for name, size, dark in (("status-page", "1000,900", []), ("status-page-phone-dark", "500,1200", ["--blink-settings=preferredColorScheme=0"])):
        run(f"--screenshot={shots}/{name}.png", f"--window-size={size}", *dark, address + "/page")
server.shutdown()
sys.exit(not good)
