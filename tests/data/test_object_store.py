"""Rows in an object store: the same bits as from a disk, or one sentence in bounded time."""

import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import paribus
from object_store import BUCKET, ObjectStore
from paribus.__main__ import main
from paribus._data.read import source_of
from paribus._data.scan import listing, parquet
from paribus._data.scan.listing import listed
from paribus._data.scan.parquet import parquet_files
from paribus._evaluators import survey
from s3_proxy import cut, error, short, silent, slow
from scan_examples import (
    CUTS,
    NUMBERS,
    ROWS,
    all_same,
    asked,
    check,
    equal,
    frame,
    model,
    refused,
    same,
    written,
)
from statistic_of import statistic_of

WIDE = 40  # columns that no model needs


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """Rows on a disk: as files, and in folders that are columns."""
    path = tmp_path_factory.mktemp("rows")
    written(path / "plain", size=400)
    (path / "plain" / "_SUCCESS").write_bytes(b"")
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    table = table.append_column("y", pa.array(np.random.default_rng(0).normal(size=ROWS)))
    for year in (2025, 2026):
        written(path / "hive" / f"year={year}", table.slice((year - 2025) * 1200, 1200), (0, 500, 1200))
    for number in range(WIDE):
        table = table.append_column(f"unused{number}", pa.array(np.random.default_rng(number).random(ROWS)))
    (path / "wide").mkdir()
    pq.write_table(table, path / "wide" / "x.parquet", row_group_size=600)
    return path


@pytest.fixture(scope="session")
def running(local):
    store = ObjectStore()
    store.upload(local, "data")
    yield store
    store.close()


@pytest.fixture
def store(running, monkeypatch):
    """The store, which the environment names, and whose proxy is as new."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(parquet, "PAUSE", 0.0)
    running.proxy.clear()
    yield running
    running.proxy.clear()


WAYS = {
    "one file": lambda store: [f"s3://{BUCKET}/data/plain/part-{k}.parquet" for k in range(4)],
    "folder": lambda store: f"s3://{BUCKET}/data/plain/",
    "pattern": lambda store: f"s3://{BUCKET}/data/plain/part-?.parquet",
    "options": lambda store: (
        f"s3://{BUCKET}/data/plain/*.parquet?endpoint_override=127.0.0.1:{store.proxy.port}&scheme=http"
    ),
    "dataset": lambda store: ds.dataset(f"{BUCKET}/data/plain", filesystem=store.filesystem()),
    "fsspec": lambda store: ds.dataset(f"{BUCKET}/data/plain", filesystem=store.fsspec()),
}


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
def test_rows_of_object_store_give_bits_of_rows_in_memory(store, way, monkeypatch):
    source = WAYS[way](store)
    if way == "options":
        monkeypatch.delenv("AWS_ENDPOINT_URL")
    read = check(source, weighted=True)
    assert read["a"].provenance.rows == ROWS
    assert store.proxy.data("part-3")


def test_table_with_a_log_is_refused_in_object_store(store, local, tmp_path):
    (tmp_path / "table" / "_delta_log").mkdir(parents=True)
    (tmp_path / "table" / "_delta_log" / "0.json").write_text("{}")
    (tmp_path / "table" / "year=2025").mkdir()
    (tmp_path / "table" / "year=2025" / "x.parquet").write_bytes((local / "wide" / "x.parquet").read_bytes())
    (tmp_path / "table" / "x.parquet").write_bytes((local / "wide" / "x.parquet").read_bytes())
    store.upload(tmp_path, "lake")
    for path in ("", "/*.parquet", "/**/*.parquet", "/year=2025", "/year=2025/*.parquet"):
        with pytest.raises(paribus.errors.SourceError, match="files of a Delta Lake table"):
            listed(f"s3://{BUCKET}/lake/table{path}")
    assert len(listed(f"s3://{BUCKET}/lake/table/year=2025/x.parquet")[1]) == 1  # a file that is named


def test_tables_of_formats_are_read_with_their_credentials(store, tmp_path, monkeypatch):
    import deltalake
    from pyiceberg.catalog.sql import SqlCatalog

    address = f"http://127.0.0.1:{store.port}"  # deltalake keeps the GIL, which the proxy would wait for
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    options = keys | {"AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}
    own = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.region": "us-east-1"}
    for name in store.environment:  # only the tables have the address and the keys
        monkeypatch.delenv(name)
    where = f"s3://{BUCKET}/delta table"
    deltalake.write_deltalake(where, table, storage_options=options)
    warehouse = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"s3://{BUCKET}/warehouse"}
    catalog = SqlCatalog("local", **warehouse, **own, **{"s3.endpoint": address})
    catalog.create_namespace("n")
    catalog.create_table("n.t", table.schema).append(table)
    for X in (deltalake.DeltaTable(where, storage_options=options), catalog.load_table("n.t")):
        pickle.loads(pickle.dumps(source_of(X, "raise"))).head(("a",))  # as a worker reads
        check(X, weighted=True)
    catalog.close()


@pytest.mark.nightly
def test_folders_target_and_weights_are_those_of_disk(store, local):
    def explained(X):
        return paribus.explain(model("lightgbm"), X, y="y", sample_weight="w")

    kept = explained(local / "hive")
    for X in (
        f"s3://{BUCKET}/data/hive",
        ds.dataset(f"{BUCKET}/data/hive", partitioning="hive", filesystem=store.fsspec()),
    ):
        read = explained(X)
        all_same(read.effects, kept.effects)
        equal(read.interactions.h_squared_pairwise, kept.interactions.h_squared_pairwise)
        equal(read.importance.values, kept.importance.values)
    year = paribus.partial_dependence(lambda X: X["year"] + X["a"], f"s3://{BUCKET}/data/hive", "year")
    assert year.grid_values[0].tolist() == [2025, 2026]


def test_keys_are_taken_as_they_are(store, local, tmp_path):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0]}), file)
    for key in ("odd/city=a%20b/x.parquet", "odd/city=c d/x[1].parquet"):
        store.upload(file, key)
        read = paribus.partial_dependence(lambda X: X["a"], f"s3://{BUCKET}/{key}", "a")
        assert read.average[0].tolist() == [1.0, 2.0]
    both = paribus.partial_dependence(lambda X: X["a"], f"s3://{BUCKET}/odd", "city")
    assert sorted(both.grid_values[0]) == ["a b", "c d"]


def test_only_columns_that_are_needed_are_read_and_row_groups_once_for_each_pass(store, local):
    address = f"s3://{BUCKET}/data/wide/x.parquet"
    read = paribus.effects(model("lightgbm"), address, NUMBERS, grid_resolution=5)
    assert read["a"].provenance.passes == 2
    size = (local / "wide" / "x.parquet").stat().st_size
    footer = max(one.bytes for one in store.proxy.data() if one.range[1] == size)
    inside = [one for one in store.proxy.data() if one.range[1] < size - footer // 2]
    needed = sum(
        column.total_compressed_size
        for group in range(4)
        for column in map(
            pq.ParquetFile(local / "wide" / "x.parquet").metadata.row_group(group).column, range(WIDE + 6)
        )
        if column.path_in_schema in NUMBERS
    )
    assert sum(one.bytes for one in inside) <= 3.1 * needed  # the head, and two passes
    assert max(Counter(one.range for one in inside).values()) == 3
    assert needed < size / 5


@pytest.mark.nightly
def test_command_reads_object_store_and_no_footer_twice(store, local, tmp_path, capsys):
    model("lightgbm").booster_.save_model(tmp_path / "model.txt")
    command, page = ["explain", str(tmp_path / "model.txt"), "--quiet"], tmp_path / "report.html"
    address = f"s3://{BUCKET}/data/hive/year=2025/*.parquet"
    assert main([*command, address, "--target", "y", "--weight", "w", "-o", str(page)]) == 0
    requests = len(store.proxy.requests)
    store.proxy.clear()
    opened = paribus.read_model(tmp_path / "model.txt")
    read = paribus.explain(opened, address, y="y", sample_weight="w")
    assert requests == len(store.proxy.requests)
    all_same(paribus.load(page).effects, read.effects)
    secret = address.replace("://", "://key:secret@")
    assert main(["explain", str(tmp_path / "model.txt"), secret, "-o", str(page)]) == 0
    assert "secret" not in page.read_text() + "".join(capsys.readouterr())
    for arguments, words in (
        ([f"s3://{BUCKET}/data/hive/nothing"], "no such file or folder"),
        ([address, "-o", f"s3://{BUCKET}/report.html"], "is an address"),
    ):
        assert main([*command, *arguments]) == 2
        assert words in capsys.readouterr().err


def within(seconds, *words, X, **options):
    """An error of one sentence, with these words, that comes in time."""
    begun = time.monotonic()
    message = refused(paribus.errors.SourceError, *words, X=X, **options)
    assert time.monotonic() - begun < seconds
    assert "\n" not in message
    assert len(message) < 700
    return message


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
        (403, "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        (400, "ExpiredToken", "have not expired"),
        (403, "AccessDenied", "permit listing and reading"),
        (301, "PermanentRedirect", "region=eu-west-1"),
    ],
)
@pytest.mark.parametrize("path", ["data/plain", "data/plain/*.parquet", "data/plain/part-0.parquet"])
def test_store_that_refuses_is_one_sentence_with_way_out(store, status, code, words, path):
    store.proxy.rules.append(lambda request: error(status, code))
    within(20, f"s3://{BUCKET}/{path}", words, X=f"s3://{BUCKET}/{path}")
    assert len(store.proxy.requests) <= 2


def test_credentials_that_are_missing_are_said_to_be(store, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    store.proxy.rules.append(lambda r: None if "authorization" in r.headers else error(403, "AccessDenied"))
    within(20, "credentials", "are set", X=f"s3://{BUCKET}/data/plain")
    store.proxy.rules.clear()
    check(f"s3://{BUCKET}/data/plain")  # as anonymous, which a public bucket permits


def test_what_is_missing_is_named(store):
    within(20, "s3://nowhere/x", "no bucket 'nowhere'", X="s3://nowhere/x/*.parquet")
    within(20, "s3://nowhere/x", "no bucket 'nowhere'", X="s3://nowhere/x")
    assert "bucket" not in within(20, f"s3://{BUCKET}/nothing", "no such file", X=f"s3://{BUCKET}/nothing")
    within(20, "no file matches", X=f"s3://{BUCKET}/data/plain/*.csv")
    within(20, "as text", X=Path(f"s3://{BUCKET}/data/plain"))
    within(20, "fsspec.filesystem", X="nosuch://bucket/x.parquet")
    within(20, "'regoin' is not an option", X=f"s3://{BUCKET}/data/plain?regoin=eu-west-1")


@pytest.mark.parametrize(
    "X",
    [
        "s3://key:hidden@nowhere/x",
        f"s3://key:hidden@{BUCKET}/no*.parquet",
        f"s3://key:so/hidden@{BUCKET}/x",
        f"s3://key:so@hidden@{BUCKET}/x",
        f"s3://{BUCKET}/x?secret_key=hidden",
        "s3://key:hidden@/x",
        "abfs://name:so hidden@box/x",
        "http://name:hidden@host/x",
        "abfs://box@account.example/x?client_secret=hidden",
    ],
)
def test_secret_in_address_is_neither_in_message_nor_in_traceback(store, X):
    with pytest.raises(paribus.errors.SourceError, match="X='") as caught:
        paribus.partial_dependence(asked, X, "a")
    assert "hidden" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("path", ["s3://key:hidden@box/x.json", Path("s3://key:hidden@box/x.json")])
def test_secret_is_not_in_message_where_an_address_is_refused(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    result = paribus.partial_dependence(asked, frame(), "a", grid_resolution=3)
    for call in (
        lambda: paribus.load(path),
        lambda: paribus.read_model(path),
        lambda: result.save(path),
        lambda: paribus.Explainer(asked, frame(), checkpoint=path).effects(),
    ):
        with pytest.raises(paribus.ParibusError, match="is an address") as caught:
            call()
        assert "hidden" not in "".join(traceback.format_exception(caught.value))
    assert main(["explain", "model.txt", "data.parquet", "-o", str(path)]) == 2
    assert "hidden" not in capsys.readouterr().err


@pytest.mark.parametrize("way", ["folder", "dataset", "fsspec"])
def test_file_that_may_not_be_read_is_named_or_skipped(store, way):
    X = WAYS[way](store)
    store.proxy.rules.append(
        lambda r: error(403, "AccessDenied", "Access Denied") if "part-2" in r.path else None
    )
    within(20, f"{BUCKET}/data/plain/part-2.parquet", "AWS_ACCESS_KEY_ID", "on_error='skip'", X=X)
    read = paribus.Explainer(asked, X, on_error="skip").partial_dependence("a", grid_resolution=3)
    assert read.provenance.rows == ROWS - (CUTS[3] - CUTS[2])
    assert "part-2" in read.provenance.skipped[0]


def every(number, spoiler):
    """Spoil each response with bytes whose turn it is."""
    turns = Counter()

    def rule(request):
        turns["data"] += request.range is not None
        return spoiler if request.range is not None and turns["data"] % number == 0 else None

    return rule


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["pattern", "fsspec"])
@pytest.mark.parametrize("spoiler", [cut, error(503, "SlowDown"), slow(0.1)], ids=["cut", "busy", "slow"])
def test_response_that_fails_now_and_then_gives_same_bits(store, way, spoiler):
    X = WAYS[way](store)
    store.proxy.rules.append(every(9, spoiler))
    same(
        paribus.partial_dependence(asked, X, "a", grid_resolution=3),
        paribus.partial_dependence(asked, frame(), "a", grid_resolution=3),
    )


@pytest.mark.parametrize("way", ["pattern", "fsspec"])
@pytest.mark.parametrize("spoiler", [cut, short], ids=["cut", "short"])
@pytest.mark.parametrize("rows", [False, True], ids=["footer", "rows"])
def test_response_that_always_fails_names_file(store, way, spoiler, rows, monkeypatch):
    monkeypatch.setattr(listing, "ATTEMPTS", 2)
    X = WAYS[way](store)
    seen = Counter()

    def rule(request):
        seen[request.path] += request.range is not None
        spoiled = "part-3" in request.path and request.range is not None and seen[request.path] > rows
        return spoiler if spoiled else None

    store.proxy.rules.append(rule)
    within(20, "part-3.parquet", "cannot be read", "on_error='skip'", X=X)


def test_silent_store_is_given_up_in_bounded_time(store, monkeypatch):
    monkeypatch.setattr(listing, "SILENCE", 1.0)
    monkeypatch.setattr(listing, "ATTEMPTS", 2)
    store.proxy.rules.append(lambda request: silent if request.range is not None else None)
    within(30, "part-", "check the network", X=f"s3://{BUCKET}/data/plain")
    assert len(store.proxy.data()) <= 4 * 2
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    within(30, f"s3://{BUCKET}/data", "AWS_ENDPOINT_URL", X=f"s3://{BUCKET}/data/plain")


def test_bound_of_silence_is_as_documented():
    assert listing.SILENCE * listing.ATTEMPTS == 20


@pytest.mark.parametrize("way", ["disk", "s3", "fsspec"])
def test_file_written_anew_between_passes_is_noticed(store, tmp_path, monkeypatch, way):
    """With the same size, footer and extremes: only when it was written differs."""
    values = np.arange(1000.0)
    file = tmp_path / "rows" / "x.parquet"
    file.parent.mkdir()

    def write(order):
        pq.write_table(pa.table({"a": order}), file, compression="none", use_dictionary=False)
        store.upload(file.parent, "changing")

    write(values)
    X = {
        "disk": lambda: file,
        "s3": lambda: f"s3://{BUCKET}/changing",
        "fsspec": lambda: ds.dataset(f"{BUCKET}/changing", filesystem=store.fsspec()),
    }[way]()
    finish = survey.Survey.finish

    def changing(self, *arguments):
        before = file.stat()
        write(np.concatenate([values[:1], values[1:-1][::-1], values[-1:]]))
        assert file.stat().st_size == before.st_size
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
        return finish(self, *arguments)

    monkeypatch.setattr(survey.Survey, "finish", changing)
    words = () if way == "fsspec" else ("written anew", "workers need one")  # s3fs refuses it by itself
    refused(paribus.errors.SourceError, "x.parquet", *words, X=X, chosen=lambda X: X["a"])


def test_addresses_are_refused_where_results_are_written(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read = paribus.partial_dependence(asked, f"s3://{BUCKET}/data/plain", "a", grid_resolution=3)
    with pytest.raises(paribus.errors.OptionError, match=r"is an address.*local path"):
        paribus.Explainer(asked, f"s3://{BUCKET}/data/plain", checkpoint=f"s3://{BUCKET}/run-7").effects()
    with pytest.raises(paribus.errors.FormatError, match=r"copy the file by pyarrow\.fs\.copy_files"):
        read.save(f"s3://{BUCKET}/result.json")
    with pytest.raises(paribus.errors.FormatError, match="copy it first"):
        paribus.load(f"s3://{BUCKET}/result.json")
    with pytest.raises(paribus.errors.ModelFileError, match="copy it first"):
        paribus.read_model(f"s3://{BUCKET}/model.txt")
    assert not list(tmp_path.iterdir())  # a folder "s3:" neither
    read.save("result.json")
    fs.copy_files("result.json", f"s3://{BUCKET}/result.json")  # the way out
    fs.copy_files(f"s3://{BUCKET}/result.json", "again.json")
    assert paribus.load("again.json") == read


KILLED = """
import os, signal, sys
import paribus
from paribus._evaluators import survey
from paribus._executors.checkpoint import KeptStates
from scan_examples import NUMBERS, model

kept, save = [], KeptStates.save


def dying(self, first, stop, state):
    save(self, first, stop, state)
    kept.append(first)
    if len(kept) == 5:
        os.kill(os.getpid(), signal.SIGKILL)


KeptStates.save = dying
survey.survey_rows = lambda *bounds: 256
explainer = paribus.Explainer(model("lightgbm"), sys.argv[1], checkpoint=sys.argv[2], n_jobs=1)
explainer.effects(NUMBERS, grid_resolution=5)
"""


@pytest.mark.nightly
def test_killed_run_goes_on_and_reads_nothing_twice(store, local, tmp_path, monkeypatch):
    monkeypatch.setattr("paribus._evaluators.survey.survey_rows", lambda *bounds: 256)
    X, options = f"s3://{BUCKET}/data/plain/*.parquet", {"grid_resolution": 5, "n_jobs": 1}

    def run(**more):
        store.proxy.requests.clear()
        read = statistic_of("effects", model("lightgbm"), X, NUMBERS, **options, **more)
        return read, Counter(one.path[-14:] for one in store.proxy.data())

    fresh, all_of = run()
    command = [sys.executable, "-c", KILLED, X, str(tmp_path / "kept")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, env=environment, timeout=120).returncode == -signal.SIGKILL
    resumed, rest_of = run(checkpoint=tmp_path / "kept")
    all_same(resumed, fresh)
    again, none_of = run(checkpoint=tmp_path / "kept")
    all_same(again, fresh)
    first, last = "part-0.parquet", "part-3.parquet"  # of which the first pass had finished one
    assert all_of[first] - none_of[first] == 2 * (rest_of[first] - none_of[first]) > 0
    assert all_of[last] == rest_of[last] > none_of[last]


@pytest.mark.nightly
def test_ten_thousand_keys_are_listed_in_ten_requests_and_matching_ones_opened_many_at_a_time(
    store, tmp_path
):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": np.arange(20.0), "b": np.arange(20)}), file)
    store.upload(file, "one/x.parquet")
    store.multiply("one/x.parquet", 10_000)
    assert len(listed(f"s3://{BUCKET}/copies/*.parquet")[1]) == 10_000
    assert sum(one.is_list for one in store.proxy.requests) <= 12
    store.proxy.clear()
    before = psutil.Process().memory_info().rss
    found = parquet_files(f"s3://{BUCKET}/copies/00*.parquet", "raise")
    assert len(found.files) == 1_000
    assert psutil.Process().memory_info().rss - before < 60e6
    opened = Counter((one.method, one.path) for one in store.proxy.requests if one.path.endswith("x.parquet"))
    opened.pop(("HEAD", f"/{BUCKET}/copies/00*.parquet"), None)
    assert len(opened) == 2 * 1_000
    assert set(opened.values()) == {1}  # a request for what it is, one for its footer
    assert store.proxy.most_at_once >= parquet.FOOTERS_AT_ONCE / 2
