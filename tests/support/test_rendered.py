"""Answers as Home Assistant's frontend renders them, with its own worker: showing one asks no other server for anything."""

from functools import cache
from html.parser import HTMLParser
import json
from pathlib import Path
from random import Random
import re
import shutil
import subprocess
from typing import override
from urllib.parse import urljoin, urlsplit

import hass_frontend
import pytest

from custom_components.home_agent.support.encoding import ShownText, shown

NODE = shutil.which("node")
WORKER = next(hass_frontend.where().joinpath("frontend_latest").glob("markdown-worker.*.js"))
PAGE = "http://home.local:8123/lovelace/0"
EVIL = "evil.example"
LOADING = {"src", "srcset", "poster", "center-image", "background", "data", "style", "action", "formaction"}
KNOWN = {
    "a",
    "area",
    "audio",
    "img",
    "video",
    "input",
    "picture",
    "source",
    "ha-icon",
    "ha-svg-icon",
    "ha-alert",
    "ha-qr-code",
}
"""Elements with attributes that the frontend lets through, each looked at: those that load something are blocked."""
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node.js")

ADDRESSES = [
    f"https://{EVIL}/p", f"//{EVIL}/p", f"/\\/{EVIL}/p", f"/\\{EVIL}/p", f"\\/\\/{EVIL}/p", f"/&#47;{EVIL}/p", f"/&sol;{EVIL}/p",
    f"&sol;&sol;{EVIL}/p", f"&#x2f;/{EVIL}/p", f"https&colon;//{EVIL}/p", f"https:/\\{EVIL}/p", f"/\t/{EVIL}/p", f"<//{EVIL}/p>",
    f"</\\/{EVIL}/p>", f"< //{EVIL}/p >", f"\n//{EVIL}/p\n", f"/local/../..//{EVIL}/p", f"/%2e%2e//{EVIL}/p", f"/／{EVIL}/p",
    f"/&Tab;/{EVIL}/p", f"/&NewLine;/{EVIL}/p", f"ftp://{EVIL}/p", f"data:image/svg+xml,<svg><image href='https://{EVIL}'/></svg>",
]  # fmt: skip
FRAMES = [
    "![a]({})", "!![a]({})", "\\![a]({})", "![]( {} 'it')", '![a]({} "t")', "[![a]({})](/local/x)", "![a[b]c]({})", "![a\\](/local/x)]({})",
    "![`](/local/x)`]({})", "![<b>](/local/x)]({})", "![a][1]\n\n[1]: {}", "![a]\n\n[a]: {}", "![a](/local/x y)\n\n[a]: {}",
    "![a](/local/x\n\n[a]: {}", "![a][]\n\n[A]: {} 'x'", "> ![a]({})", "| a |\n|---|\n| ![a]({}) |", "- ![a]({})", "# ![a]({})",
    "![a&#93;({})]({})", "<img src={}>", "<p><img/src='{}'></p>", "<div>\n<img\nsrc='{}'>\n</div>", "<ha-qr-code data=x center-image='{}'>",
    "<picture><source srcset='{} 2x'><img src=/local/x></picture>", "<video poster='{}'></video>", "<audio src='{}' autoplay>",
    "<table background='{}'><tr><td>x</td></tr></table>", "<p style=\"background:url('{}')\">x</p>", "<input type=image src='{}'>",
    "<b><IMG SRC='{}'></b>", "<!-- --><img src='{}'>", "<details><img src='{}'></details>", "<svg><image href='{}'/></svg>",
]  # fmt: skip
PIECES = ["!", "[", "]", "(", ")", "<", ">", "\\", "`", "&", "/", "//", "evil.example", "a", " ", "\n", "\n\n", "[a]:", "img src=",
          "/local/a", '"', "&#47;", "![", "](", "](/", "https://", "[a]", "<ha-qr-code center-image=", "|", "> ", "- "]  # fmt: skip


@cache
def rendered(texts: tuple[str, ...]) -> list[str]:
    done = subprocess.run(
        [str(NODE), str(Path(__file__).with_name("markdown.js")), str(WORKER)],
        input=json.dumps(texts), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    pages: list[str] = json.loads(done.stdout)
    return pages


class Loaded(HTMLParser):
    """Finds what a browser would load from another server."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elsewhere: list[str] = []
        self.feed(page)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name not in LOADING or (tag == "ha-qr-code" and name == "data"):
                continue
            for part in re.split(r",?\s+", value or "") if name == "srcset" else [value or ""]:
                address = re.sub(r"[\t\r\n]", "", part).strip().replace("\\", "/")
                if urlsplit(urljoin(PAGE, address)).netloc != urlsplit(PAGE).netloc:
                    self.elsewhere.append(f"<{tag} {name}={value}>")


def loaded(texts: list[str]) -> dict[str, list[str]]:
    """Return what each text, shown whole and in pieces, loads from elsewhere."""
    said: list[str] = []
    for number, written in enumerate(texts):
        display = ShownText(tells_addresses=bool(number % 2))
        size = 1 + number % 5
        pieces = [display.feed(written[at : at + size]) for at in range(0, len(written), size)]
        said += [shown(written), "".join([*pieces, display.flush()])]
    pages = rendered(tuple(said))
    return {text: found for text, page in zip(said, pages, strict=True) if (found := Loaded(page).elsewhere)}


@needs_node
def test_the_renderer_would_load_them() -> None:
    texts = [frame.replace("{}", f"//{EVIL}/p") for frame in FRAMES]
    assert sum(bool(Loaded(page).elsewhere) for page in rendered(tuple(texts))) >= 18


@needs_node
@pytest.mark.parametrize("frame", FRAMES)
def test_nothing_is_loaded_from_elsewhere(frame: str) -> None:
    assert not loaded([frame.replace("{}", address) for address in ADDRESSES])


@needs_node
def test_nothing_is_loaded_from_elsewhere_by_chance() -> None:
    chance = Random(7)
    assert not loaded(["".join(chance.choices(PIECES, k=chance.randint(4, 30))) for _ in range(4000)])


@needs_node
@pytest.mark.parametrize(
    "picture",
    [
        "![door](/api/camera_proxy/camera.door)",
        "![](/local/plan.png)",
        '![a plan](/local/plan-2.png "the house")',
        "**![x](/local/x)**",
    ],
)
def test_pictures_of_the_home_are_shown(picture: str) -> None:
    for text in (shown(picture), shown(picture, tells_addresses=True)):
        assert "<img" in rendered((text,))[0]


@needs_node
@pytest.mark.parametrize("written", ["The **lights** are on.", "1\\. first", "5 > 3 and 2 < 4 [yes] (really)", "- Milk\n- Bread",
                                     "| a | b |\n|---|---|\n| 1 | 2 |", "Wow! It is <b>on</b>. Really!! [a](/local/x)"])  # fmt: skip
def test_what_is_no_picture_is_drawn_as_before(written: str) -> None:
    assert rendered((shown(written),)) == rendered((written,))


@needs_node
@pytest.mark.parametrize(
    "frame",
    ["[the weather]({})", "[the weather][1]\n\n[1]: {}", "[1]\n\n[1]:\n {} 'x'", "<a href='{}'>here</a>"],
)
def test_no_link_hides_its_address(frame: str) -> None:
    texts = (shown(frame.replace("{}", address), tells_addresses=True) for address in ADDRESSES)
    for page in rendered(tuple(texts)):
        links = re.findall(r'<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>', page, re.DOTALL)
        assert not [href for href, said in links if EVIL in href and EVIL not in said]


def test_the_elements_that_the_frontend_lets_through_are_known() -> None:
    worker = WORKER.read_text()
    listed = re.search(r"return\{a:\[.*?\]\}\}", worker)
    assert listed is not None
    tags = re.findall(r'(?:^|[,{])"?([a-z][\w-]*)"?:\[("[^\]]*)\]', listed[0])
    own = re.findall(r'"?([a-z][\w-]*)"?:\[("[^\]]*)\]', worker[worker.index('"ha-icon":[') - 200 :][:700])
    loading = {
        tag
        for tag, attributes in (*tags, *own)
        if not {"src", "srcset", "poster", "href", "data", "icon", "path", "title", "type", "center-image"}.isdisjoint(
            re.findall(r'"([\w-]+)"', attributes)
        )
    }
    assert loading - {"abbr", "svg"} == KNOWN & loading
