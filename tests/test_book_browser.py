"""The built book in a browser: every page, wide and narrow, without a network."""

from __future__ import annotations

import base64
import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pandas
import pytest
import yaml

from erlib import book
from erlib.metrics import average_accuracy, forgetting

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

ROOT = Path(__file__).parents[1]
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
WIDTHS = (1400, 400)

# What is wrong with the page as it stands, in sentences. A picture must lie inside its page; what is wider than the
# page (a table, code, an equation) must lie in a box that scrolls.
LOOK = """() => {
  const wrong = [];
  const page = document.documentElement;
  if (page.scrollWidth > innerWidth + 2) wrong.push(`the page is ${page.scrollWidth} wide in ${innerWidth}`);
  const scrolls = (node) => {
    for (let box = node.parentElement; box; box = box.parentElement)
      if (/auto|scroll/.test(getComputedStyle(box).overflowX)) return box;
    return null;
  };
  for (const image of document.querySelectorAll('.bd-article img, .bd-article .cell_output > * svg')) {
    const name = image.getAttribute('src') || 'an svg';
    if (image.tagName === 'IMG' && !(image.complete && image.naturalWidth)) wrong.push(`${name} is broken`);
    const box = image.getBoundingClientRect();
    if (!box.width) continue;  // folded away
    const around = image.closest('.cell_output, figure, .bd-article').getBoundingClientRect();
    if (box.left < around.left - 2 || box.right > around.right + 2) wrong.push(`${name} is clipped`);
  }
  for (const table of document.querySelectorAll('.bd-article table')) {
    const box = table.getBoundingClientRect();
    if (box.right > innerWidth + 2 && !scrolls(table)) wrong.push('a table is cut off');
  }
  if (document.querySelector('mjx-merror')) wrong.push('an equation has an error');
  const raw = document.querySelectorAll('.math').length;
  if (raw && !document.querySelector('.math mjx-container')) wrong.push(`${raw} equations are not rendered`);
  return wrong;
}"""


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book, built from the committed pages, with every warning an error."""
    absent = [page for page in PAGES if page.startswith("pages/") and not (ROOT / "book" / f"{page}.ipynb").is_file()]
    if absent:
        pytest.skip(f"not executed yet: {', '.join(absent)}; python -m erlib book makes them")
    output = tmp_path_factory.mktemp("book")
    assert book.build(ROOT, output)
    return output / "_build" / "html"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}; apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session", params=WIDTHS)
def tab(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """A tab of one width. `tab.wrong` collects what the browser complains about, and every request beyond the disk."""
    context = browser.new_context(viewport={"width": request.param, "height": 900}, offline=True)
    tab = context.new_page()
    tab.wrong = []
    tab.on("console", lambda message: tab.wrong.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: tab.wrong.append(str(error)))
    tab.on("requestfailed", lambda asked: tab.wrong.append(f"{asked.url} failed"))
    inside = ("file:", "data:", "blob:")
    tab.on("request", lambda asked: asked.url.startswith(inside) or tab.wrong.append(f"{asked.url} was asked"))
    yield tab
    context.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole(html: Path, tab: Any, page: str):
    tab.wrong.clear()
    tab.goto((html / f"{page}.html").as_uri())
    tab.wait_for_function("() => !document.querySelector('.math') || document.querySelector('.math mjx-container')")
    assert tab.evaluate(LOOK) + tab.wrong == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(html: Path, page: str):
    path = html / f"{page}.html"
    broken = []
    for link in re.findall(r'(?:href|src)="([^"]+)"', path.read_text(encoding="utf-8")):
        address, fragment = urldefrag(link)
        if urlsplit(link).scheme or link.startswith("//"):
            continue
        target = (path.parent / unquote(urlsplit(address).path)).resolve() if address else path
        if not target.exists() or (fragment and target.suffix == ".html" and not _has(target, unquote(fragment))):
            broken.append(link)
    assert broken == []


def test_a_figure_opens_alone(html: Path, tab: Any):
    tab.wrong.clear()
    tab.goto((html / "pages" / "fig1_memory_size.html").as_uri())
    tab.click(".cell_output a.erlib-figure")
    tab.wait_for_url("**/*.svg")
    assert tab.evaluate("document.documentElement.tagName") == "svg"
    assert tab.wrong == []


def test_search_finds_a_page_without_a_network(html: Path, tab: Any):
    tab.wrong.clear()
    tab.goto((html / "search.html").as_uri() + "?q=reservoir")
    tab.wait_for_selector("#search-results li a")
    assert tab.wrong == []


TRACES = """() => document.querySelector(".curves").data.map(
  (trace) => ({x: trace.x, y: trace.y, hover: trace.hovertemplate}))"""
PIXELS = "() => [...document.querySelectorAll('.erlib-theatre canvas')].map((canvas) => canvas.toDataURL())"


def _mean_of(traces: list[dict[str, Any]], row: str) -> list[float]:
    (mean,) = (trace["y"] for trace in traces if str(trace["hover"]).startswith(f"<b>{row}</b>, after"))
    return mean


def test_the_explorer_follows_its_menus(html: Path, tab: Any):
    tab.wrong.clear()
    path = html / "pages" / "explore_results.html"
    tab.goto(path.as_uri())
    tab.wait_for_selector(".curves .main-svg")
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', path.read_text())[1])
    places = {(place["row"], place["size"]): place for place in data["benchmarks"][0]["places"]}
    first = tab.evaluate(TRACES)
    for metric, last in (("accuracy", lambda m: 100 * average_accuracy(m)), ("forgetting", forgetting)):
        tab.select_option(".metric", metric)
        for row, size in (("ER-Ring", 1), ("Finetune", None)):
            matrices = [_matrix(run["matrix"], data) for run in places[row, size]["runs"]]
            ours = _mean_of(tab.evaluate(TRACES), row)[-1]
            assert ours == pytest.approx(statistics.fmean(last(matrix) for matrix in matrices))
    tab.select_option(".metric", "accuracy")
    assert tab.evaluate(TRACES) == first
    tab.click(".sizes button:nth-child(2)")
    assert _mean_of(tab.evaluate(TRACES), "ER-Ring") != _mean_of(first, "ER-Ring")
    tab.click(".rows button:has-text('Finetune')")
    assert not any("Finetune" in str(trace["hover"]) for trace in tab.evaluate(TRACES))
    heat = "() => document.querySelector('.matrix').data[0].z"
    before = tab.evaluate(heat)
    tab.select_option(".seed", "1")
    assert tab.evaluate(heat) != before
    tab.select_option(".benchmark", "2")
    assert "Split miniImageNet" in tab.text_content(".curves .gtitle")
    assert tab.wrong == []


def test_the_explorer_gives_its_table_away(html: Path, tab: Any):
    tab.wrong.clear()
    tab.goto((html / "pages" / "explore_results.html").as_uri())
    tab.wait_for_selector(".curves .main-svg")
    with tab.expect_download() as given:
        tab.click("a.some")
    table = pandas.read_csv(given.value.path())
    assert list(table.columns[:3]) == ["benchmark", "row", "samples_per_class"]
    assert set(table.row) == {"Finetune", "A-GEM(10)", "ER-Ring", "ER-Reservoir"}
    last = table[table.after_task == table.after_task.max()]
    ring = last[last.row == "ER-Ring"].groupby("seed").accuracy.mean().mean()
    assert 100 * ring == pytest.approx(_mean_of(tab.evaluate(TRACES), "ER-Ring")[-1], abs=0.01)
    assert tab.wrong == []


def test_the_theatre_plays(html: Path, tab: Any):
    tab.wrong.clear()
    tab.goto((html / "pages" / "explore_memory.html").as_uri())
    tab.wait_for_selector(".panels [data-held]")
    slider, lost = tab.locator(".step"), "() => document.querySelector('.panels > div').dataset.lost"
    steps = int(slider.get_attribute("max"))
    slider.fill("0")
    assert (
        tab.evaluate("() => [...document.querySelectorAll('.panels > div')].map((one) => one.dataset.held)")
        == ["0"] * 6
    )
    empty = tab.evaluate(PIXELS)
    tab.click(".on")
    assert slider.input_value() == "1"
    assert [one != other for one, other in zip(empty, tab.evaluate(PIXELS))] == [
        True
    ] * 7  # the stream and six memories
    slider.fill(str(steps))
    assert int(tab.evaluate(lost)) > 5  # the reservoir's
    assert "balanced since example" in tab.text_content(".panels")
    classes = tab.evaluate(PIXELS)
    tab.select_option(".order", "slot")
    assert tab.evaluate(PIXELS) != classes
    tab.click(".play")  # from the beginning
    tab.wait_for_function("() => Number(document.querySelector('.step').value) >= 3")
    tab.click(".play")
    stopped = slider.input_value()
    tab.wait_for_timeout(600)
    assert slider.input_value() == stopped != str(steps)
    assert tab.wrong == []


def test_pages_that_move_change_with_the_mode(html: Path, tab: Any):
    tab.goto((html / "pages" / "explore_memory.html").as_uri())
    tab.wait_for_selector(".panels [data-held]")
    looks = []
    for mode in ("light", "dark"):
        tab.evaluate("(mode) => document.documentElement.dataset.theme = mode", mode)
        tab.wait_for_timeout(100)
        looks.append(tab.evaluate(PIXELS))
    assert looks[0] != looks[1]


def _matrix(text: str, data: dict[str, Any]) -> list[list[float | None]]:
    """A run's accuracy matrix out of the page's data."""
    numbers = iter(memoryview(base64.b64decode(text)).cast("H").tolist())
    tasks = data["benchmarks"][0]["tasks"]
    rows = [[next(numbers) if j <= i else data["none"] for j in range(tasks)] for i in range(tasks)]
    return [[None if value == data["none"] else value / data["unit"] for value in row] for row in rows]


def _has(page: Path, anchor: str) -> bool:
    text = page.read_text(encoding="utf-8")
    return f'id="{anchor}"' in text or f'name="{anchor}"' in text
