"""The page as text: complete, closed to the network, the same to the byte, and its numbers inside."""

import base64
import hashlib
import os
import random
import re
import subprocess
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._report import figures
from paribus._report.figures import References
from paribus._report.pages import page_of
from paribus.results.provenance import reproducible
from paribus.results.storage import payload_of
from report_examples import HOSTILE, complete, encoded, explained, hostile, of_classes, rows_of


class Outline(HTMLParser):
    """What a page is made of."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.headings, self.text = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def handle_data(self, data):
        self.text.append(data)

    def values(self, name):
        return [value for _, own, value in self.attributes if own == name]


@pytest.fixture(scope="module")
def page():
    return page_of(complete(), "Motor liability", {"owner": "the pricing team", "limitations": "few rows"})


def test_links_lead_to_ids_that_are_there_once(page):
    outline = Outline(page)
    ids = outline.values("id")
    assert len(ids) == len(set(ids))
    links = outline.values("href")
    assert len(links) > 50
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert all(link.startswith("#") for link in links)


def test_headings_are_in_order_and_tables_have_captions(page):
    outline = Outline(page)
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(
        after - before <= 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False)
    )
    tables, captions = outline.tags.count("table"), outline.tags.count("caption")
    assert tables == captions > 10
    assert outline.tags.count("figure") == outline.tags.count("figcaption") > 10
    assert len(
        [1 for tag, name, _ in outline.attributes if (tag, name) == ("th", "scope")]
    ) == outline.tags.count("th")
    for landmark in ("header", "nav", "main", "footer"):
        assert outline.tags.count(landmark) == 1


def test_policy_names_the_one_style_and_the_one_script(page):
    assert_closed(page)


def assert_closed(page):
    """Refuse a page that may run or request anything."""
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    (policy,) = [
        value for _, name, value in Outline(page).attributes if name == "content" and "default-src" in value
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    outline = Outline(page)
    assert not [
        name for _, name, _ in outline.attributes if name in ("style", "src") or name.startswith("on")
    ]
    assert not {"img", "iframe", "link", "object", "embed", "form", "base"} & set(outline.tags)
    addresses = set(re.findall(r"https?://[^\"'< ]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_sections_have_what_they_are_for(page):
    text = " ".join("".join(Outline(page).text).split())
    for words in (
        "Motor liability",
        "the pricing team",
        "few rows",
        "checks found nothing",
        "declared: falling",
        "The strongest pairs",
        "root mean squared error",
        "Constant prediction",
        "Calibration",
        "Not shown on this page",
        payload_of(reproducible(complete())).sha256,
    ):
        assert words in text
    assert explained().provenance.date not in page


def test_points_of_few_curves_show_their_numbers_to_a_pointer(page, monkeypatch):
    assert page.count("<title>") > 200
    monkeypatch.setattr(figures, "CURVES", 4)
    assert page_of(complete()).count("<title>") < 100


def test_outputs_that_are_drawn_are_in_tables():
    page = page_of(of_classes())
    assert "Drawn: 3 of 6 outputs" in page
    assert "Drawn: the output that moves most" in page
    effect = of_classes().effects.effects[0]
    caption = f"Partial dependence on {effect.feature_names[0]}"
    (numbers,) = re.findall(rf"<caption>{caption}</caption>(.*?)</table>", page, re.S)
    drawn = [effect.output_names[place] for place in figures.drawn_outputs(effect)]
    assert list(dict.fromkeys(re.findall(r"<bdi>(\w)</bdi>", numbers))) == drawn


def test_parts_that_are_empty_are_said_to_be():
    bare = replace(
        explained(), performance=None, shapes=(), checks=(), verdict=(), interactions=None, surfaces=None
    )
    X, y = rows_of()
    X = encoded(X)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    page = page_of(replace(bare, averages=paribus.marginal(model, X)))
    assert 'class="line issue"' not in page
    assert 'class="line tip"' not in page
    assert "no target was given" in page
    assert "A single feature has no interactions." in page


def test_comparison_has_what_moved_since_an_earlier_explanation():
    X, y = rows_of()
    X = encoded(X)
    other = paribus.explain(DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y), X, y)
    page = page_of(complete(), compare=other)
    outline = Outline(page)
    assert {link[1:] for link in outline.values("href")} <= set(outline.values("id"))
    text = " ".join("".join(outline.text).split())
    for words in ("The rows are the same", "Changes, largest first", "Old and new partial dependence"):
        assert words in text
    assert "comparison" not in Outline(page_of(complete())).values("id")
    with pytest.raises(paribus.errors.OptionError, match="compare=dict must be an Explanation"):
        complete().report("report.html", compare={})
    assert "0 of 5 features do" not in page_of(complete(), compare=complete())


def test_notes_of_a_finding_are_listed_with_their_panels(page):
    notes = References(complete()).notes
    assert {note.code for note in notes} == {note.code for note in complete().verdict}
    text = "".join(Outline(page).text)
    assert all(note.text in text for note in notes if len(note.text) < 400)


@pytest.mark.nightly
def test_load_returns_the_explanation_of_a_page(tmp_path):
    path = tmp_path / "report.html"
    for made in (of_classes(), hostile()):
        made.report(path)
        loaded = paribus.load(path)
        assert loaded == reproducible(made)
        assert (loaded.effects.effects[0].average == made.effects.effects[0].average).all()
        assert page_of(loaded) == path.read_text(encoding="utf-8")


def test_reproducible_record_has_nothing_that_differs_between_runs():
    record = replace(
        explained().provenance,
        source="2 Parquet files from /home/a/b/c.parquet, 3 row groups",
        skipped=("/x/y.parquet: damaged",),
    )
    same = record.reproducible()
    assert (same.date, same.seconds, same.threads, same.max_memory, same.block_rows, same.executor) == (
        "",
        0,
        0,
        0,
        0,
        "",
    )
    assert same.source == "2 Parquet files from c.parquet, 3 row groups"
    assert same.skipped == ("y.parquet: damaged",)
    assert same.rows == record.rows
    assert same.reproducible() == same
    odd = replace(record, source="/home/Jane Doe, MD/claims, old/a b.parquet, 3 row groups")
    assert odd.reproducible().source == "a b.parquet, 3 row groups"
    assert odd.background().endswith("(unweighted, read from claims, old/a b.parquet, 3 row groups)")


def test_folders_above_files_are_not_in_what_is_shown(tmp_path):
    folder = tmp_path / "of mine" / "rows"
    folder.mkdir(parents=True)
    numbers = np.random.default_rng(0).normal(size=60)
    pq.write_table(pa.table({"a": numbers}), folder / "good.parquet")
    (folder / "bad.parquet").write_bytes(b"no rows")
    found = paribus.Explainer(lambda t: t["a"].to_numpy(), folder, on_error="skip", progress=False).explain()
    assert str(folder / "good.parquet") in found.provenance.source
    for sent in (page_of(found), found.to_markdown().replace("\\", "")):
        assert "good.parquet" in sent
        assert "bad.parquet" in sent
        assert tmp_path.name not in sent
    caption, printed = found.effects["a"].figure().notes[0], found.sentences[-1].text
    for shown in (caption, printed):
        assert "read from rows/good.parquet, 1 row group" in shown


def test_folders_of_hyperparameters_are_not_in_the_record():
    given = {
        "memory": "'/home/me/my cache'",
        "train_dir": "PosixPath('~/runs/1')",
        "files": r"""['C:\me\a.txt', "/b"]""",
        "loss": "'quantile/0.5'",
        "share": "1/2",
    }
    own = replace(explained(), model=replace(explained().model, parameters=given))
    assert reproducible(own).model.parameters == {
        "memory": "'my cache'",
        "train_dir": "PosixPath('1')",
        "files": """['a.txt', "b"]""",
        "loss": "'quantile/0.5'",
        "share": "1/2",
    }


@pytest.mark.parametrize(
    "damage",
    [
        lambda page: page.replace('data-bytes="', 'data-bytes="9'),
        lambda page: page.replace('data-sha256="', 'data-sha256="0')[:-1],
        lambda page: re.sub(r'(paribus-payload"[^>]*>)(....)', r"\1AAAA", page),
        lambda page: re.sub(r'(paribus-payload"[^>]*>)[^<]*', r"\1", page),
        lambda page: page.replace("</main>", '<template id="paribus-payload"></template></main>'),
        lambda page: page.replace("paribus-payload", "payload"),
        lambda page: page[: len(page) // 2],
    ],
)
def test_damaged_pages_are_refused(page, damage, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(damage(page), encoding="utf-8")
    with pytest.raises(paribus.errors.FormatError, match=r"damaged|not a page"):
        paribus.load(path)


def test_page_that_unpacks_to_far_more_than_it_is_is_refused(page, tmp_path):
    path = tmp_path / "report.html"
    bomb = zlib.compress(b" " * 50_000_000, 9)
    for size in (50_000_000, 1000):
        tag = f'data-bytes="{size}" data-sha256="{"0" * 64}">{base64.b64encode(bomb).decode()}<'
        path.write_text(
            re.sub(r'data-bytes="\d+" data-sha256="\w+">[^<]*<', lambda _, tag=tag: tag, page),
            encoding="utf-8",
        )
        with pytest.raises(paribus.errors.FormatError, match="damaged"):
            paribus.load(path)


def test_pages_with_changed_characters_are_loaded_as_they_were_or_refused(tmp_path):
    path = tmp_path / "report.html"
    small = replace(explained(), interactions=None, surfaces=None)
    small.report(path)
    page, whole, rng = path.read_text(encoding="utf-8"), paribus.load(path), random.Random(0)
    first = page.index("<template")
    for _ in range(60):
        place = rng.randrange(first, len(page))
        changed = page[:place] + rng.choice('<>"A0= \x00é') + page[place + rng.randrange(3) :]
        path.write_text(changed, encoding="utf-8")
        try:
            loaded = paribus.load(path)
        except paribus.errors.FormatError:
            continue
        assert loaded == whole


RERUN = """
import sys, paribus
sys.path.insert(0, {support!r})
import report_examples as examples
from sklearn.tree import DecisionTreeRegressor
X, y = examples.rows_of()
X = examples.encoded(X)
model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
paribus.Explainer(model, X, y, n_jobs=2, max_memory="300MB").explain().report("again.html", about={{"owner": "A"}})
"""
ELSEWHERE = """
import sys
for name in ("sklearn", "lightgbm", "xgboost", "matplotlib", "pandas", "plotly", "numba"):
    sys.modules[name] = None
import paribus
paribus.load(sys.argv[1]).report(sys.argv[2], about={"owner": "A"})
"""


@pytest.mark.nightly
def test_page_is_the_same_in_another_process_folder_and_number_of_threads(tmp_path):
    here = tmp_path / "here.html"
    explained().report(here, about={"owner": "A"})
    support = os.path.join(os.path.dirname(os.path.dirname(__file__)), "support")
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    code = RERUN.format(support=support)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env=environment)
    assert (tmp_path / "again.html").read_bytes() == here.read_bytes()
    rendered = tmp_path / "rendered.html"
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(here), str(rendered)], check=True, env=environment)
    assert rendered.read_bytes() == here.read_bytes()


def test_date_is_the_one_that_is_given(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert "1970-01-02" in page_of(explained())
    given = page_of(explained(), about={"date": "2026-01-31"})
    assert "1970-01-02" not in given
    assert "2026-01-31" in given


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"title": 3}, "title=3 must be text"),
        ({"about": "the pricing team"}, "must be a mapping"),
        ({"about": {"owner": 3}}, "must map text to text"),
    ],
)
def test_options_of_another_type_are_refused(options, words, tmp_path):
    with pytest.raises(paribus.errors.OptionError, match=words):
        explained().report(tmp_path / "report.html", **options)


def test_path_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(paribus.errors.FormatError, match="cannot be written"):
        explained().report(tmp_path / "no" / "report.html")


def test_path_of_another_kind_of_file_and_other_flags_are_refused(tmp_path):
    with pytest.raises(paribus.errors.OptionError, match=r"report.pdf' must end in .html"):
        of_classes().report(tmp_path / "report.pdf")
    with pytest.raises(paribus.errors.OptionError, match="tables='yes' must be one of True, False"):
        of_classes().report(tmp_path / "report.html", tables="yes")
    assert not list(tmp_path.iterdir())


def test_hostile_names_are_text_everywhere():
    page = page_of(hostile(), HOSTILE[0], dict.fromkeys((*HOSTILE, "\ud800"), HOSTILE[1] + "\ud800"))
    page.encode()
    assert_closed(page)
    outline = Outline(page)
    assert outline.tags.count("script") == outline.tags.count("style") == outline.tags.count("template") == 1
    assert "img" not in outline.tags
    assert "<img" not in page
    assert HOSTILE[0] in "".join(outline.text)
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", page)


def test_pages_are_small():
    assert len(page_of(complete())) < 700_000


def test_pages_of_many_features_and_outputs_stay_within_their_size(monkeypatch):
    """200 features of 6 outputs, without interactions; more outputs make tables larger, and draw no more."""
    monkeypatch.setattr(figures, "CURVES", 0)  # as of many features
    one = of_classes()
    per_feature = (len(page_of(one)) - len(page_of(few(one, 1)))) / (len(one.effects) - 1)
    assert 200 * per_feature < 11_000_000  # of curves of 50 points with their covariances


def few(explanation, count):
    """Return an explanation of fewer features."""
    names = explanation.feature_names[:count]
    parts = {
        part: replace(
            getattr(explanation, part), effects=tuple(getattr(explanation, part)[name] for name in names)
        )
        for part in ("effects", "ale", "averages")
    }
    return replace(explanation, **parts)


def test_page_lists_settings_codes_of_notes_and_a_table_that_can_be_sorted(page):
    parameters = re.search(r"<details[^>]*><summary>Hyperparameters</summary>(.*?)</details>", page, re.S)
    assert "max_depth" in parameters[1]
    assert re.search(r"max_depth.*?<td><bdi[^>]*>4</bdi>", parameters[1])
    assert re.search(r"<table class=\"overview sortable\"", page)
    listed = re.findall(r'<ul class="notes">(.*?)</ul>', page, re.S)
    assert any(re.search(r"\bPAR\d{3}\b", notes) for notes in listed)
    for fact in ("Kind", "Effect", "Whole range", "Lowest at", "Highest at", "Values"):
        assert f"<dt>{fact}<" in page
