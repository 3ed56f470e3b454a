"""A headless Chromium for tests of pages: Debian's chromium, chromium-driver and python3-selenium, for /usr/bin/python3.

A test file runs once more in that Python, as a script; it prints a line for each check, `name: problem` or `name:`, which
`checks` adds to the tally of the test run.
"""
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.harness import ROOT


def call(*command, timeout=120):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr


def missing():
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        return "no chromium or no chromium-driver"
    if not pathlib.Path("/usr/bin/python3").exists() or call("/usr/bin/python3", "-c", "import selenium")[0] != 0:
        return "no selenium for /usr/bin/python3"
    return None


def checks(file, folder, title, add, skip):
    """Runs a test file in the Python that has selenium; `add(name, problem or None)`, `skip(name, reason)`."""
    if why := missing():
        skip(title, why)
        return
    code, out, err = call("/usr/bin/python3", file, folder, timeout=110)
    for line in out.splitlines():
        name, _, problem = line.partition(": ")
        check, _, why = problem.partition(": ")
        add(f"{name}: {check.rstrip(':')}", why or None)
    if code != 0:
        add(title, f"status {code}\n{err[-3000:]}")


class Browser:
    """Opens files of a folder."""

    def __init__(self, folder):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
        self.folder = pathlib.Path(folder)
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000"):
            options.add_argument(word)
        options.add_experimental_option("prefs", {"download.default_directory": str(self.folder)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def check(self, name, problem):
        print(f"{name}: {(problem or '').strip()}".replace("\n", " "), flush=True)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def many(self, selector):
        return self.driver.find_elements("css selector", selector)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def load(self, name):
        self.driver.get((self.folder / name).as_uri())
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def errors(self):
        return [e["message"] for e in self.driver.get_log("browser") if "willReadFrequently" not in e["message"]]

    def too_wide(self):
        wide = self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return None if wide <= 0 else f"{wide} pixels too wide"
