"""The book that scripts/docs builds: its links lead somewhere, it loads nothing from elsewhere, its search finds."""
import html.parser
import pathlib
import re
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.model.browser import Browser, call, checks
from tests.support.harness import ROOT


class Page(html.parser.HTMLParser):
    """Links, anchors, and what a page loads."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loads = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("script", "img", "iframe") and values.get("src"):
            self.loads.append(values["src"])
        if tag == "link" and values.get("rel") != "canonical" and values.get("href"):
            self.loads.append(values["href"])


def site_problems(site):
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    problems = []
    for path, page in pages.items():
        for target in page.links + page.loads:
            if re.match(r"(https?|mailto):", target):
                if target in page.loads:
                    problems.append(f"{path.relative_to(site)} loads {target}")
                continue
            name, _, heading = urllib.parse.unquote(target).partition("#")
            there = (path.parent / name).resolve() if name else path
            if not there.exists():
                problems.append(f"{path.relative_to(site)}: there is no {target}")
            elif heading and there in pages and heading not in pages[there].anchors:
                problems.append(f"{path.relative_to(site)}: nothing is {target}")
    return "\n".join(problems[:20]) or ("only a few pages" if len(pages) < 45 else None)


def browse(folder):
    with Browser(folder) as browser:
        check, one, run = browser.check, browser.one, browser.run
        browser.load("index.html")
        run("const q = document.getElementById('mkdocs-search-query'); q.value = 'recomputation'; q.dispatchEvent(new KeyboardEvent('keyup'))")
        found = browser.driver.execute_async_script("""
            const done = arguments[0], end = Date.now() + 8000;
            (function look() {
              const links = [...document.querySelectorAll('#mkdocs-search-results a')].map((a) => a.getAttribute('href'));
              links.length || Date.now() > end ? done(links) : setTimeout(look, 50);
            })();""")
        check("book: search", None if any("graphs.html" in link for link in found) else str(found))
        check("book: the console", "; ".join(browser.errors()))
        for page in ("index.html", "methods.html", "book/2-modules.html", "tasks/memory.html"):
            browser.driver.set_window_size(500, 900)
            browser.load(page)
            check(f"book: {page} fits a narrow window", browser.too_wide())
        colour = "return getComputedStyle(document.body).backgroundColor"
        light = run(colour)
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        check("book: dark", None if run(colour) != light else light)


def book_tests(add, skip):
    """`add(name, problem or None)`, `skip(name, reason)`."""
    if call("/usr/bin/python3", "-c", "import mkdocs")[0] != 0:
        skip("the book", "mkdocs is missing")
        return
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = call(ROOT / "scripts/docs", folder)
        add("scripts/docs builds the book", None if code == 0 else f"status {code}\n{out[-1500:]}{err[-1500:]}")
        if code == 0:
            add("book: links", lambda: site_problems(pathlib.Path(folder).resolve()))
            checks(__file__, folder, "the book in a browser", add, skip)


if __name__ == "__main__":
    browse(sys.argv[1])
