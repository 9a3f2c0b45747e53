"""The site as a reader meets it: built once, opened in Chromium, and looked at."""

import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from browsing import served

for package in ("sphinx", "myst_nb", "furo", "sphinxcontrib.katex", "hatchling"):
    pytest.importorskip(package, reason=f"{package} is not installed (pip install 'minalbert[site]')")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
SHOWN = ["index", "README", "notebooks/04_attention", "docs/walkthrough/attention", "docs/browser/index", "docs/speed",
         "exercises/CATALOGUE", "api/layers"]  # fmt: skip
FOREIGN = {"landmark-unique", "region"}  # furo's own: its two sidebars have no names


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with open(folder / "log", "w", encoding="utf-8") as log:  # a pipe would wait for katex's server
        command = [sys.executable, str(ROOT / "docs" / "site.py"), str(folder / "site")]
        code = subprocess.run(command, stdout=log, stderr=log, timeout=900).returncode
    assert code == 0, (folder / "log").read_text(encoding="utf-8")[-5000:]
    return folder / "site"


def pages(site):
    """Those that are written for readers, without the listings of code."""
    found = sorted(site.rglob("*.html"))
    return [path for path in found if not {"code", "_static"} & set(path.relative_to(site).parts)]


class Links(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.wanted, self.ids = [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.wanted += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def test_every_link_within_the_site_leads_somewhere(site):
    files = {path.resolve(): Links(path) for path in site.rglob("*.html")}
    lost, count = [], 0
    for path, links in files.items():
        for link in links.wanted:
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            target, fragment = urldefrag(link.partition("?")[0] if "#" not in link else link)
            there = (path.parent / unquote(target.partition("?")[0])).resolve() if target else path
            known = files[there].ids if there in files else {""}
            if not there.exists() or (there in files and unquote(fragment) not in known):
                lost.append((str(path.relative_to(site.resolve())), link))
    assert lost == []
    assert count > 10_000


def test_every_file_of_the_library_has_a_page_and_every_notebook(site):
    both = (ROOT / "minalbert", ROOT / "exercises" / "minalbert_course")
    files = [path for kind in ("py", "js", "cu", "cuh") for package in both for path in package.rglob(f"*.{kind}")]
    names = [path.relative_to(ROOT).as_posix() for path in files]
    assert [name for name in names if not (site / "code" / f"{name}.html").exists()] == []
    packages = {path.parent.name for path in (ROOT / "minalbert").glob("*/__init__.py")} | {"course"}
    assert packages == {path.stem for path in (site / "api").glob("*.html")} - {"index", "minalbert"}
    assert [path.stem for path in sorted((site / "notebooks").glob("*.html"))] == [
        path.stem for path in sorted((ROOT / "notebooks").glob("[0-9]*.py"))
    ]


def test_a_link_to_a_file_of_code_leads_to_its_listing(site):
    page = (site / "docs" / "walkthrough" / "linear.html").read_text(encoding="utf-8")
    assert re.search(r'href="../../code/minalbert/kernels/cpu/gemm.py.html"[^>]*>(<[^>]*>)*kernels/cpu/gemm.py<', page)
    listed = (site / "code" / "minalbert" / "kernels" / "cpu" / "gemm.py.html").read_text(encoding="utf-8")
    assert "matmul" in listed


def test_pictures_of_notebooks_say_what_they_show(site):
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        metadata = [output.get("metadata", {}) for cell in cells for output in cell.get("outputs", ())]
        told = [data["image/png"]["alt"] for data in metadata if "image/png" in data]
        page = (site / "notebooks" / path.with_suffix(".html").name).read_text(encoding="utf-8")
        assert [html.unescape(alt) for alt in re.findall(r'<img alt="([^"]*)"', page)] == told, path.name


def test_commands_in_docstrings_keep_their_dashes_and_names_their_type(site):
    for path in sorted((site / "api").glob("*.html")):
        text = html.unescape(re.sub(r"(?s)<(script|pre).*?</\1>|<[^>]+>", "", path.read_text(encoding="utf-8")))
        assert re.findall(r".*[\u2013\u2018\u201c`].*", text) == [], path.name  # – ‘ “


@pytest.fixture(scope="module")
def address(site):
    with served(site) as address:
        yield address


def of_a_page_that_was_left(request):
    """Did the browser give it up, because another page was opened? What is missing is answered, with 404."""
    return request.failure == "net::ERR_ABORTED"


@pytest.fixture
def visit(address, chromium):
    """Opens a page; in the end no page may have complained or asked for anything that is not in the site."""
    troubles, contexts, inside = [], [], (address, "data:", "blob:")

    def open_page(name, viewport=DESKTOP, theme="light"):
        context = chromium.new_context(viewport=viewport, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: troubles.append((page.url, said.text)) if said.type != "log" else None)
        page.on("pageerror", lambda error: troubles.append((page.url, str(error))))
        page.on("requestfailed", lambda request: None if of_a_page_that_was_left(request) else
                troubles.append((page.url, f"lost: {request.url}")))  # fmt: skip
        page.on("request", lambda sent: None if sent.url.startswith(inside) else troubles.append((page.url, sent.url)))
        page.goto(f"{address}{name}.html")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


BROKEN = """() => ({
    pictures: [...document.images].filter(image => !(image.complete && image.naturalWidth)).map(image => image.src),
    silent: [...document.images].filter(image => !image.alt && image.getAttribute("role") !== "presentation")
        .map(image => image.src),
    mathematics: [...document.querySelectorAll(".math")].filter(one => !one.querySelector(".katex"))
        .map(one => one.textContent),
    errors: [...document.querySelectorAll(".katex-error")].map(one => one.textContent),
    raw: (document.querySelector("article")?.innerText.match(/\\\\(frac|sqrt|sum|mathrm)|\\$\\$/g) || []),
    wide: document.documentElement.scrollWidth > innerWidth ? document.documentElement.scrollWidth : 0,
})"""


def test_every_page_is_whole_on_a_desk_and_on_a_phone(site, address, visit):
    """No error in the console, no request to elsewhere, pictures and mathematics there, nothing wider than the page."""
    found, mathematics, page = {}, set(), visit("index")
    for path in pages(site):
        name = path.relative_to(site).with_suffix("").as_posix()
        page.set_viewport_size(DESKTOP)
        page.goto(f"{address}{name}.html")
        for viewport in (DESKTOP, PHONE):
            page.set_viewport_size(viewport)
            found[name, viewport["width"]] = page.evaluate(BROKEN)
        mathematics |= {name} if page.locator(".katex").count() else set()
    wrong = {key: {what: that for what, that in value.items() if that} for key, value in found.items()}
    assert {key: value for key, value in wrong.items() if value} == {}
    assert len(mathematics) > 25


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_can_be_read_by_everyone(visit, name, theme):
    """axe: contrast, names of pictures and controls, order of headings, and more."""
    axe_core = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page = visit(name, theme=theme)
    violations = axe_core.Axe().run(page).response["violations"]
    ours = [(found["id"], found["nodes"][0]["html"], found["nodes"][0]["failureSummary"]) for found in violations
            if found["id"] not in FOREIGN]  # fmt: skip
    assert ours == []


def test_the_search_finds_without_a_server(site, chromium):
    page = chromium.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator("input[name=q]").first.fill("trust ratio")
    page.locator("input[name=q]").first.press("Enter")
    summary = page.get_by_text("Search finished, found")  # results come one by one
    summary.wait_for()
    results = page.locator("ul.search li")
    assert f"found {results.count()} pages" in summary.inner_text()
    assert results.count() >= 10
    assert results.filter(has_text="LAMB").count() > 0


def test_light_and_dark_change_places_at_a_click(visit):
    page = visit("index")
    button = page.locator(".theme-toggle").filter(visible=True)

    def ground():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    grounds = [ground()]
    for _ in range(3):
        button.click()
        grounds.append(ground())
    assert len(set(grounds)) == 2


def test_a_phone_has_the_menu_behind_a_button(visit):
    page = visit("index", PHONE)
    entry = page.locator(".sidebar-drawer").get_by_role("link", name="4. Attention", exact=False)
    assert not entry.is_visible() or entry.bounding_box()["x"] < 0
    page.locator("label.nav-overlay-icon").filter(visible=True).click()
    page.wait_for_timeout(400)
    assert entry.bounding_box()["x"] >= 0
    entry.click()
    assert "attention" in page.url


def test_the_first_page_has_doors_that_lead_in(visit):
    page = visit("index")
    doors = page.locator(".doors a").filter(visible=True)
    assert doors.count() == 8
    doors.first.click()
    page.wait_for_url("**/notebooks/00_tour.html")


def test_wide_code_scrolls_by_itself_and_by_keyboard(visit):
    page = visit("docs/walkthrough/attention", PHONE)
    wide = page.evaluate("""
        [...document.querySelectorAll("article pre")].filter(box => box.scrollWidth > box.clientWidth)
            .map(box => [getComputedStyle(box).overflowX, box.tabIndex])""")
    assert wide
    assert set(map(tuple, wide)) == {("auto", 0)}


def test_a_wide_formula_scrolls_as_a_whole_and_by_keyboard(visit):
    page = visit("docs/walkthrough/masking", PHONE)
    cut = page.evaluate("""
        [...document.querySelectorAll("div.math")].filter(box =>
            [...box.querySelectorAll(".base")].some(part => part.getBoundingClientRect().right > innerWidth))
            .map(box => [box.classList.contains("more"), box.tabIndex])""")
    assert cut
    assert set(map(tuple, cut)) == {(True, 0)}


def test_a_phone_breaks_no_number_and_shrinks_no_figure(visit):
    page = visit("docs/paper", PHONE)
    page.wait_for_load_state("load")
    numbers = page.locator("td.number p")
    lines = numbers.evaluate_all("""cells => cells.map((cell) => {
        const text = document.createRange();
        text.selectNodeContents(cell);
        return text.getClientRects().length;
    })""")
    assert numbers.filter(has_text="±").count() > 100
    assert set(lines) == {1}
    figures = page.locator("article img").evaluate_all(
        "all => all.map(one => [Math.min(one.width, 600), one.parentElement.tabIndex])"
    )
    assert len(figures) > 5
    assert set(map(tuple, figures)) == {(600, 0)}
    assert page.locator("h2", has_text="0.00176").locator("wbr").count() == 0


def test_a_phone_shows_the_figures_of_notebooks_with_letters_of_one_size(visit):
    page = visit("notebooks/18_paper", PHONE)
    page.wait_for_load_state("load")
    scales = page.locator("article img").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width / one.naturalWidth)"
    )
    assert len(scales) > 5
    assert {round(scale, 2) for scale in scales} == {0.8}


BROKEN_FORMULAS = """() => [...document.querySelectorAll("article p span.math")].filter(formula => {
    const parts = [...formula.querySelectorAll(".base")].map(part => part.getBoundingClientRect());
    const width = parts.reduce((sum, part) => sum + part.width, 0);
    return width < 190 && parts.some(part => part.left < parts[0].left);
}).map(formula => formula.querySelector("annotation").textContent)"""


def test_a_phone_breaks_no_short_formula_no_interval_and_no_option(visit):
    sharing, paper = visit("notebooks/05_sharing", PHONE), visit("notebooks/18_paper", PHONE)
    options = paper.locator("article p code .pre", has_text="--")
    for width in range(320, 440, 10):
        for page in (sharing, paper):
            page.set_viewport_size(PHONE | {"width": width})
            assert page.evaluate(BROKEN_FORMULAS) == [], width
        assert set(options.evaluate_all("all => all.map(one => one.getClientRects().length)")) == {1}, width
    text = " ".join(sharing.locator("article p").all_text_contents())
    assert "0.110\u00a0±\u00a00.085" in text
    assert re.findall(r"\d ±|± \d|\d [kMG]B\b", text) == []


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_explorer_answers_a_click(visit, viewport):
    page = visit("notebooks/04_attention", viewport)
    explorer = page.locator("[id^=explorer-]").first
    cell = explorer.locator("[role=grid] tbody td").nth(3)
    formula = explorer.locator("[aria-live=polite]").first
    before = formula.inner_text()
    cell.click()
    assert formula.inner_text() != before


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_pages_are_taken(visit, tmp_path, viewport, theme):
    """For eyes, under pytest's folder; here, that they are not empty: dark text on light, or light on dark."""
    from PIL import Image

    for name in SHOWN:
        page = visit(name, viewport, theme)
        path = tmp_path / f"{name.replace('/', '-')}.png"
        page.screenshot(path=path)
        levels = Image.open(path).convert("L").histogram()
        dark, light = sum(levels[:64]), sum(levels[192:])
        assert (dark > 10 * light) == (theme == "dark"), name
        assert min(dark, light) > 500, name
