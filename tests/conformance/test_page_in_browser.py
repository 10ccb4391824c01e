"""The pages in a real browser: filters, the map, copying, pictures, a phone, the dark, and nothing leaves the page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, Scheme, missing
from page_reports import HARMLESS, HOSTILE, case, many, write, wrong
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from conformance.diff.result import between
from conformance.diff.sides import Side
from conformance.html.comparison import write_comparison
from conformance.html.page import write_page

REPORT = (
    wrong(fault="b-leading-dimension", finding="B is read too far", arithmetic="sm90"),
    wrong(fault="b-leading-dimension", seed=1),
    wrong("m1-n16-k128", shape="everything", where="all rows", scenario="layout/offset-1"),
    case("known-deviation", seed=2, deviation="d", reason="raised", detail="it said no"),
    case("not-run", seed=3),
    case("unsupported", seed=4, reason="nobody said so"),
    case("rejected", seed=5, backend="l"),
    case("passed", seed=6, scenario="layout/offset-1"),
    case("passed", "m1-n16-k128", "uniform-codes"),
    wrong(seed=8, backend=f"long-{'x' * 200}", detail=f"{'y' * 300} {HOSTILE}", reason=HOSTILE),
)
CONTRAST = (Path(__file__).parent.parent / "contrast.js").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if reason := missing():
        if os.environ.get("CONFORMANCE_BROWSER") == "required":
            pytest.fail(f"{reason}, and CONFORMANCE_BROWSER says that it is required")
        pytest.skip(f"{reason}; the pages are tried where chromium and its driver are installed")
    with Browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    backends: dict[str, object] = {line["backend"]: {} for line in REPORT}
    now = write(folder / "now", *REPORT, backends=backends, said=f"WRONG: {HOSTILE}")
    before = ({**line, "verdict": "passed"} if line["verdict"] == "failed" else line for line in REPORT)
    then = write(folder / "then", *before, backends=backends, torch="2.12.0")
    big = write(folder / "big", *many(10_000, failing=500), backends={"k": {}, "l": {}})
    made = {name: folder / f"{name}.html" for name in ("report", "big", "diff")}
    write_page(now, made["report"])
    write_page(big, made["big"])
    new = Side.read(now)
    write_comparison(between(Side.read(then), new), new, made["diff"])
    return made


@pytest.fixture(autouse=True)
def nothing_is_loaded_and_nothing_complains(browser: Browser) -> Iterator[None]:
    yield
    assert browser.console() == []
    assert {address.split(":")[0] for address in browser.requests()} <= {"file", "about"}


def first(browser: Browser, selector: str) -> WebElement:
    return browser.driver.find_element(By.CSS_SELECTOR, selector)


def control(browser: Browser, name: str) -> WebElement:
    return browser.driver.find_element(By.NAME, name)


def wait(browser: Browser, what: str) -> None:
    """Until the JavaScript expression ``what`` is true."""
    WebDriverWait(browser.driver, 5, 0.02).until(lambda _: browser.run(what), what)


def found(browser: Browser, count: str) -> list[str]:
    """The ids in the list, as soon as it says that ``count`` match."""
    wait(browser, f"document.querySelector('.found').textContent.startsWith('{count} ')")
    ids: list[str] = browser.run("[...document.querySelectorAll('.case > summary code')].map(x => x.textContent)")
    return ids


def fragment(browser: Browser) -> str:
    return browser.driver.current_url.partition("#")[2]


def test_filters_narrow_the_list_and_live_in_the_address(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"])
    found(browser, "10")

    control(browser, "text").send_keys("Offset-1")
    found(browser, "2")
    Select(control(browser, "verdict")).select_by_visible_text("failed")
    found(browser, "1")
    address = fragment(browser)
    browser.open(pages["report"], f"#{address}")

    assert address == "text=Offset-1&verdict=failed"
    assert found(browser, "1") == [REPORT[2]["id"]]
    assert control(browser, "text").get_attribute("value") == "Offset-1"
    assert Select(control(browser, "verdict")).first_selected_option.text == "failed"
    first(browser, "button[type=reset]").click()
    assert found(browser, "10")[0] == REPORT[0]["id"]
    assert fragment(browser) == "all"


@pytest.mark.parametrize(
    ("address", "places"),
    [
        ("check=layout%2F*", [2, 7]),
        ("check=layout%2Foffset-1", [2, 7]),
        ("check=uniform-codes", [8]),
        ("shape=m1-n16-k128", [2, 8]),
        ("backend=l", [6]),
        ("cause=known-deviation+d", [3]),
        ("text=NO+said", [5, 3]),
        ("verdict=error", []),
        ("verdict=not-run&unknown=1", [4]),
    ],
)
def test_an_address_is_a_filter(address: str, places: list[int], browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"], f"#{address}")

    assert sorted(found(browser, str(len(places)))) == sorted(REPORT[place]["id"] for place in places)


def test_cells_of_the_map_causes_and_counts_are_filters(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"])

    first(browser, ".grid td.bad a[href*=layout]").click()
    assert found(browser, "1") == [REPORT[2]["id"]]
    assert fragment(browser) == "backend=k&check=layout%2F%2A&shape=m1-n16-k128"
    first(browser, ".cause .count").click()
    assert found(browser, "2") == [REPORT[0]["id"], REPORT[1]["id"]]
    first(browser, ".counts .known a").click()
    assert found(browser, "1") == [REPORT[3]["id"]]
    browser.driver.back()
    assert found(browser, "2") == [REPORT[0]["id"], REPORT[1]["id"]]


@pytest.mark.parametrize("clipboard", ["writeText", "execCommand"])
def test_a_line_can_be_copied_from_a_file(clipboard: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"])
    if clipboard == "execCommand":
        browser.run("void Object.defineProperty(navigator, 'clipboard', { value: undefined })")

    # So that what somebody else has copied is no answer.
    for keys in ("other", Keys.CONTROL + "a", Keys.CONTROL + "x"):
        control(browser, "text").send_keys(keys)
    first(browser, ".cause .copy").click()
    wait(browser, "document.querySelector('.cause .copy').textContent === 'copied'")
    control(browser, "text").send_keys(Keys.CONTROL + "v")

    line = f"conformance run --backend kernels:K --case {REPORT[0]['id']}"
    assert control(browser, "text").get_attribute("value") == line


def test_a_case_opens_by_key_and_shows_its_picture_and_its_bits(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"], "#text=read+too+far")
    found(browser, "1")

    first(browser, ".case summary").send_keys(Keys.ENTER)
    wait(browser, "document.querySelector('.case svg') !== null")

    said = " ".join(first(browser, ".case").text.split())
    parts = ("B is read too far", "9 of 1536", "rows M", "columns N", "a cell 1 × 64", "0 128 0x1.8p+3 0x4140", "sm90")
    assert [part for part in parts if part not in said] == []
    squares = "[...document.querySelectorAll('.case rect')].map(x => ['x', 'y', 'width'].map(y => +x.getAttribute(y)))"
    assert [[round(number, 3) for number in square] for square in browser.run(squares)] == [
        *([25.5, 5.5, 9], [40, 0, 20], [60, 0, 20]),
        *([43, 23, 14], [60, 20, 20]),
        *([43, 43, 14], [60, 40, 20]),
    ]
    lines = [each.text for each in browser.driver.find_elements(By.CSS_SELECTOR, ".case .line code")]
    assert lines == [
        f"conformance run --backend kernels:K --case {REPORT[0]['id']}",
        f"conformance explain {REPORT[0]['id']} --backend kernels:K",
    ]


def test_ten_thousand_cases_are_listed_as_they_are_needed(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["big"])

    listed = found(browser, "10,000")
    control(browser, "text").send_keys("/s9999")
    last = found(browser, "1")

    assert len(listed) <= 100
    assert last == [many(10_000, failing=0)[-1]["id"]]
    browser.open(pages["big"], "#verdict=passed")
    before = len(found(browser, "9,500"))
    browser.run("document.querySelector('.more').scrollIntoView()")
    wait(browser, f"document.querySelectorAll('.case').length > {before}")


@pytest.mark.parametrize("name", ["report", "diff"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_never_scrolls_sideways(name: str, width: int, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name], width=width)
    browser.run("document.querySelectorAll('details').forEach(x => (x.open = true))")
    wait(browser, "document.querySelectorAll('.case .line').length > 0")

    assert browser.run("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    wide = "[...document.querySelectorAll('.box')].filter(x => x.scrollWidth > x.clientWidth).length"
    assert (browser.run(wide) > 0) == (width == 360)


@pytest.mark.parametrize("name", ["report", "diff"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(name: str, scheme: Scheme, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name], scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach(x => (x.open = true))")
    wait(browser, "document.querySelectorAll('.case .line').length > 0")

    contrast = browser.run(CONTRAST)

    assert contrast["poor"] == []
    assert contrast["count"] > 80
    dark = browser.run("getComputedStyle(document.body).backgroundColor").startswith("rgb(20")
    assert dark == (scheme == "dark")


def test_paper_has_the_pictures_and_no_filters(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"], media="print")

    assert not control(browser, "text").is_displayed()
    assert first(browser, ".cause svg").is_displayed()
    assert browser.run("[...document.querySelectorAll('.grid')].map(x => x.checkVisibility())") == [True] * 3


@pytest.mark.parametrize("name", ["report", "diff"])
def test_a_hostile_report_is_shown_and_does_nothing(name: str, browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages[name])
    browser.run("document.querySelectorAll('.case').forEach(x => (x.open = true))")
    wait(browser, "document.querySelectorAll('.case .line').length > 0")

    assert browser.run("[typeof hacked, document.images.length, document.querySelectorAll('[onerror]').length]") == [
        *("undefined", 0, 0)
    ]
    assert HARMLESS in first(browser, "main").text


def test_no_other_script_and_no_other_address_gets_past_the_policy(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["report"])
    browser.run(
        """(() => {
          document.body.append(Object.assign(document.createElement("script"), { textContent: "hacked = 1" }));
          document.body.append(Object.assign(new Image(), { src: "file:///x.png" }));
          return fetch("file:///y").catch(() => 0);
        })()"""
    )

    assert browser.run("typeof hacked") == "undefined"
    refused = browser.console()
    assert len([said for said in refused if "Content Security Policy" in said]) >= 3


def test_a_comparison_says_what_to_do_and_shows_what_is_newly_wrong(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["diff"])

    assert first(browser, "h1").text.endswith("REGRESSED")
    assert first(browser, ".sentence").text.startswith("4 regressed, 1 still wrong")
    assert first(browser, ".runs").text.endswith("torch 2.12.0 2.13.0")
    assert first(browser, ".kind.bad").text.startswith(
        "✗ regressed\nright, refused or foreseen before, wrong now; run conf"
    )
    assert first(browser, ".kind.bad svg").is_displayed()
    first(browser, ".kind.bad .count").click()
    assert found(browser, "2") == [REPORT[0]["id"], REPORT[1]["id"]]
    assert fragment(browser) == "change=regressed&backend=k&check=tagged-integers"
    assert "passed → failed (wrong-values)" in first(browser, ".case").text
