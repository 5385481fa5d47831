"""The command line as its users type it: what is written where, and with which exit code."""

import hashlib
import logging
import os
import pickle
import re
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pytest

import paribus
from paribus.__main__ import main
from paribus._command import explain_command
from paribus._command.files import read_data


def drawn(rows, seed, slope=1.0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "power kW": rng.gamma(3, 30, rows).round(1),
            "city": pd.Categorical(rng.choice(["Bern", "Genf", "Zürich"], rows)),
        }
    )
    frame.loc[rng.random(rows) < 0.1, "power kW"] = np.nan
    target = slope * np.sin(frame["age"] / 12) + (frame["city"] == "Bern") + 0.2 * rng.normal(size=rows)
    return frame, target


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models, data and explanations in a folder with a space in its name."""
    home = tmp_path_factory.mktemp("a folder")
    for name, slope in (("old", 1.0), ("moved", 1.8)):
        frame, target = drawn(1200, 1, slope)
        model = lightgbm.LGBMRegressor(n_estimators=15, num_leaves=7, learning_rate=0.3, verbose=-1, n_jobs=1)
        model.fit(frame, target).booster_.save_model(home / f"{name}.txt")
    frame, target = drawn(400, 2)
    frame = frame.assign(target=target, weight=np.arange(400) % 3 + 1.0)
    frame.to_csv(home / "my data.csv", index=False)
    frame.to_csv(home / "semicolon.csv", index=False, sep=";")
    frame.to_parquet(home / "data.parquet")
    (home / "no parquet").mkdir()
    with (home / "model.pkl").open("wb") as file:
        pickle.dump(model, file)
    for name in ("old", "moved"):
        path = str(home / f"{name}.json")
        assert (
            main(["explain", str(home / f"{name}.txt"), str(home / "my data.csv"), "-o", path, "--quiet"])
            == 0
        )
    return home


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command in the folder; return its code, what it wrote to stdout and what to stderr."""
    monkeypatch.chdir(folder)
    capsys.readouterr()

    def call(*arguments):
        try:
            code = main(list(arguments))
        except SystemExit as ended:
            code = ended.code
        written = capsys.readouterr()
        return code, written.out, written.err

    return call


def test_no_arguments_print_help(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "paribus compare old.json new.json --fail-above 0.1" in out
    assert "exit codes: 0 success, 1 failed check, 2 invalid input, 3 internal error" in out


@pytest.mark.parametrize("command", ["explain", "compare", "compile"])
def test_every_command_has_help_with_examples(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "\nexample" in out
    assert max(map(len, out.splitlines())) <= 115


def test_text_of_csv_becomes_the_categories_of_the_model(run, folder):
    model = paribus.read_model(folder / "old.txt")
    frame, _ = drawn(400, 2)
    effects = paribus.effects(model, frame, ["city", "age"], progress=False)
    explanation = paribus.load(folder / "old.json")
    assert set(explanation.effects) == {"age", "power kW", "city"}
    assert explanation.effects["city"].grid_values[0].tolist() == effects["city"].grid_values[0].tolist()
    assert np.array_equal(explanation.effects["city"].average, effects["city"].average)
    assert explanation.effects["power kW"].missing is not None


def test_files_of_every_format_have_the_same_rows(folder):
    tables = {}
    for name in ("my data.csv", "semicolon.csv"):
        data = read_data(str(folder / name), "target", "weight")
        assert data.X.column_names == ["age", "power kW", "city"]
        assert len(data.y) == len(data.sample_weight) == 400
        tables[name] = data.X.to_pandas().astype({"city": str})
    assert tables["my data.csv"].equals(tables["semicolon.csv"])
    parquet = read_data(str(folder / "data.parquet"), "target", "weight")
    assert (parquet.y, parquet.sample_weight) == ("target", "weight")


def test_column_that_is_weight_and_feature_stays_a_feature(folder):
    model = paribus.read_model(folder / "old.txt")
    data = read_data(str(folder / "my data.csv"), "target", "age", model=model)
    assert data.X.column_names == ["age", "power kW", "city", "weight"]
    assert data.sample_weight.min() >= 18


def test_compressed_csv(folder):
    pd.read_csv(folder / "my data.csv").to_csv(folder / "data.csv.gz", index=False)
    assert read_data(str(folder / "data.csv.gz")).X.equals(read_data(str(folder / "my data.csv")).X)


def test_explain_parquet_with_target_and_weight_equals_csv(run, folder):
    options = ("--target", "target", "--weight", "weight", "--quiet")
    assert run("explain", "old.txt", "data.parquet", *options, "-o", "a.json")[0] == 0
    assert run("explain", "old.txt", "my data.csv", *options, "-o", "b.json")[0] == 0
    one, two = (paribus.load(folder / name) for name in ("a.json", "b.json"))
    assert one.provenance.weights is not None
    for name in two.effects:
        assert np.allclose(one.effects[name].average, two.effects[name].average)
    assert "observed" in two.averages["age"]


def test_pattern_in_quotes_names_parquet_files(run, folder):
    """Not every shell expands it, and an argument list has a length."""
    table = pd.read_parquet(folder / "data.parquet")
    for part in range(2):
        table.iloc[part * 200 : part * 200 + 200].to_parquet(folder / f"part-{part}.parquet")
    options = ("--target", "target", "--quiet")
    assert run("explain", "old.txt", "data.parquet", *options, "-o", "whole.json")[0] == 0
    code, out, _ = run("explain", "old.txt", "part-*.parquet", *options, "-o", "parts.json")
    assert (code, out) == (0, "")
    whole, parts = (paribus.load(folder / name) for name in ("whole.json", "parts.json"))
    assert parts.provenance.fingerprint == whole.provenance.fingerprint
    assert np.array_equal(whole.effects["age"].average, parts.effects["age"].average)


def test_explain_prints_a_table_or_writes_by_suffix(run, folder):
    code, out, err = run("explain", "old.txt", "my data.csv", "--quiet", "--save", "kept.json")
    assert code == 0
    assert out.startswith("Explanation of ")
    assert err == "paribus: saved kept.json\n"
    assert f"{paribus.load(folder / 'kept.json')!r}\n" == out
    report = ("-o", "r.html", "--title", "Motor", "--about", "owner=A = B", "--compare", "old.json")
    assert run("explain", "moved.txt", "my data.csv", "--quiet", *report)[0] == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Motor" in page
    assert "A = B" in page
    assert paribus.load(folder / "r.html").feature_names == paribus.load(folder / "moved.json").feature_names
    assert run("explain", "moved.txt", "my data.csv", "--quiet", "--features", "age", "-o", "r.md")[0] == 0
    assert (folder / "r.md").read_text(encoding="utf-8").startswith("# moved\\.txt on my data\\.csv\n")


def test_explain_reports_a_curve_that_moves_in_the_outer_rows_alone(run, folder):
    frame = pd.DataFrame({"age": np.arange(400.0), "noise": np.arange(400) % 7})
    model = lightgbm.LGBMRegressor(n_estimators=1, num_leaves=2, min_child_samples=4, verbose=-1, n_jobs=1)
    model.fit(frame, frame["age"] < 5).booster_.save_model(folder / "beyond.txt")
    frame.to_csv(folder / "beyond.csv", index=False)
    for name in ("beyond.html", "beyond.md"):
        assert run("explain", "beyond.txt", "beyond.csv", "--quiet", "-o", name)[0] == 0
        assert "falls until 5, then flat" in (folder / name).read_text(encoding="utf-8")


STAGES = (
    "partial dependence",
    "interactions, first pass",
    "local effects",
    "averages near values",
    "interactions",
    "shares of variance",
    "surfaces of pairs",
)


class AtOnce:
    """A timer that does not wait."""

    def __init__(self, seconds, function, arguments):
        self.function, self.arguments = function, arguments

    def start(self):
        self.function(*self.arguments)

    def cancel(self):
        pass


def test_explain_reports_a_short_line_for_each_long_stage(run, monkeypatch):
    assert run("explain", "old.txt", "my data.csv")[2] == ""
    monkeypatch.setattr("paribus._executors.progress.Timer", AtOnce)  # as if every stage took long
    monkeypatch.setattr("paribus._executors.progress.SHORT", 0.0)
    code, out, err = run("explain", "old.txt", "my data.csv")
    assert code == 0
    assert out.startswith("Explanation of ")
    lines = [line.removeprefix("paribus: ").split(": ") for line in err.splitlines()]
    shared = {stage for doing, _ in lines for stage in doing.split(" and ")}  # some share a pass
    assert set(STAGES) <= shared
    assert all(re.fullmatch(r"\d[\d,]* rows in \d+ s", text) for _, text in lines)
    assert max(map(len, err.splitlines())) < 110
    assert run("explain", "old.txt", "my data.csv", "--quiet")[2] == ""
    assert not logging.getLogger("paribus").handlers


def test_verbose_adds_model_and_data(run):
    code, _, err = run("explain", "old.txt", "my data.csv", "--verbose")
    assert code == 0
    assert "paribus: Explainer of Booster\n" in err
    assert "400 rows in memory" in err


def test_checkpoint_of_parquet_is_resumed_and_refused_for_tables_in_memory(run, folder):
    options = ("--checkpoint", "kept", "--quiet", "--jobs", "1", "--max-memory", "500MB")
    assert run("explain", "old.txt", "data.parquet", *options, "-o", "first.json")[0] == 0
    kept = sorted(path.name for path in (folder / "kept").iterdir())
    assert kept
    assert run("explain", "old.txt", "data.parquet", *options, "-o", "second.json")[0] == 0
    one, two = (paribus.load(folder / f"{name}.json") for name in ("first", "second"))
    assert np.array_equal(one.effects["age"].average, two.effects["age"].average)
    assert one.provenance.max_memory == 500_000_000
    assert one.provenance.threads == 1
    code, _, err = run("explain", "old.txt", "my data.csv", "--checkpoint", "kept")
    assert code == 2
    assert "--checkpoint is for Parquet" in err


def test_memory_below_the_minimum_of_trees_is_refused(run):
    code, _, err = run("explain", "old.txt", "my data.csv", "--max-memory", "20kB")
    assert code == 2
    assert re.search(r"needs? [\d.]+ [kM]B and max_memory is 20 kB", err)


def test_rows_may_be_left_out_of_files(run, folder):
    made = ("-o", "bare.html", "--save", "bare.json", "--target", "target", "--quiet", "--without-rows")
    assert run("explain", "old.txt", "my data.csv", *made)[0] == 0
    for name in ("bare.html", "bare.json"):
        found = paribus.load(folder / name)
        assert found.predictions.predicted.shape == (1, 0)
        assert found.performance is not None


def test_report_names_model_file_target_objective_and_data_files(run, folder):
    about = ("--about", "purpose=Tariff of motor cars", "--about", f"limitations={'Not for fleets. ' * 20}")
    for data in ("my data.csv", "data.parquet"):
        made = ("-o", "identity.html", "--target", "target", "--quiet", *about)
        assert run("explain", "old.txt", data, *made)[0] == 0
        page = (folder / "identity.html").read_text(encoding="utf-8")
        found = paribus.load(folder / "identity.html")
        sha256 = hashlib.sha256((folder / "old.txt").read_bytes()).hexdigest()
        assert (found.model.file.name, found.model.file.sha256) == ("old.txt", sha256)
        assert found.model.objective == "regression"
        assert [(one.name, one.rows) for one in found.files] == [(data, 400)]
        (target,) = found.target
        values = pd.read_parquet(folder / "data.parquet")["target"]
        assert target.name == "target"
        assert np.allclose(
            [target.mean, target.standard_deviation, target.lowest, target.median, target.highest],
            [values.mean(), values.std(ddof=0), values.min(), values.median(), values.max()],
        )
        header = page[page.index("<header") : page.index("</header>")]
        for text in ("Tariff of motor cars", "old.txt", data):
            assert text in header
        record = page[page.index('id="record"') :]
        for text in ("Not for fleets.", "old.txt", sha256, "regression", "median"):
            assert text in record
        assert "Not for fleets." in page[page.index('id="before"') : page.index('id="model"')]
        assert str(folder) not in page


def test_compare_is_a_gate(run, folder):
    code, out, err = run("compare", "old.json", "moved.json", "--fail-above", "0.1", "--save", "drift.json")
    assert code == 1
    assert out.startswith("Drift, ")
    bound = "above 0.1 standard deviations or 0.3 standard deviations for rows"
    assert err.startswith(f"paribus: failed: {bound}: age (")
    assert f"{paribus.load(folder / 'drift.json')!r}\n" == out
    code, _, err = run("compare", "old.json", "old.json", "--fail-above", "0.1")
    assert (code, err) == (0, f"paribus: passed: no change {bound}\n")
    code, out, err = run("compare", "old.json", "moved.json")
    assert (code, err) == (0, "")
    assert run("compare", "old.json", "moved.json", "--fail-above", "9")[0] == 0


def test_compare_names_features_that_only_one_file_has(run):
    assert run("explain", "old.txt", "my data.csv", "--quiet", "--features", "age", "-o", "part.json")[0] == 0
    code, out, err = run("compare", "old.json", "part.json", "--fail-above", "0")
    assert code == 0
    assert err.endswith(("; not compared: power kW, city\n", "; not compared: city, power kW\n"))
    assert "not compared: " in out


def test_compare_gates_rows_and_performance(run):
    target = ("--target", "target", "--quiet", "-o")
    for name in ("old", "moved"):
        assert run("explain", f"{name}.txt", "my data.csv", *target, f"{name} scored.json")[0] == 0
    both = ("compare", "old scored.json", "moved scored.json")
    code, _, err = run(*both, "--fail-rows", "0.1")
    assert code == 1
    assert err.startswith("paribus: failed: above 0.1 standard deviations for rows: rows (")
    code, _, err = run(*both, "--fail-rows", "9")
    assert (code, err) == (0, "paribus: passed: no change above 9 standard deviations for rows\n")
    code, _, err = run(*both, "--fail-metric", "0.01")
    assert code == 1
    assert err.startswith("paribus: failed: R")
    assert " is worse by more than 0.01: " in err
    code, _, err = run(*both, "--fail-above", "9", "--fail-metric", "mean absolute error=100")
    assert code == 0
    assert err.endswith("passed: mean absolute error is not worse by more than 100\n")
    assert run(*both, "--fail-above", "9", "--fail-metric", "R2=0.01")[0] == 1


FAILURES = [
    (("explian",), "invalid choice: 'explian'"),
    (("explain", "old.txt"), "the following arguments are required: DATA; see paribus explain --help"),
    (("explain", "none.txt", "my data.csv"), "path='none.txt' cannot be read: No such file"),
    (("explain", "model.pkl", "my data.csv"), "is refused, because loading it can run any code"),
    (("explain", "old.txt", "none.csv"), "there is no file or folder none.csv"),
    (("explain", "old.txt", "none-*.parquet"), "X='none-*.parquet': no file matches this pattern"),
    (("explain", "old.txt", "old.txt"), "DATA old.txt cannot be read: CSV parse error"),
    (("explain", "old.txt", "old.json"), "does not begin as a Parquet file"),
    (("explain", "old.txt", "no parquet"), "is a folder without Parquet files"),
    (("explain", "old.txt", "my data.csv", "-o", "r.docx"), "-o r.docx must end in .html, .json, .md"),
    (("explain", "old.txt", "my data.csv", "-o", "none/r.html"), "there is no folder none; create it first"),
    (("explain", "old.txt", "my data.csv", "--save", "r.txt"), "--save r.txt must end in .json"),
    (
        ("explain", "old.txt", "my data.csv", "--executor", "dask"),
        "executor dask must be tcp://HOST:PORT of a Dask",
    ),
    (
        ("explain", "old.txt", "my data.csv", "--executor", "tcp://nowhere"),
        "executor tcp://nowhere did not answer: ",
    ),
    (
        ("explain", "old.txt", "my data.csv", "--executor", "x://host/;token=secret"),
        "executor x://host/ must be tcp://HOST:PORT",
    ),
    (
        ("explain", "old.txt", "my data.csv", "--title", "T"),
        "--title is for a report; pass -o with a name that ends in .html or .md",
    ),
    (("explain", "old.txt", "my data.csv", "--target", "tarhet"), "did you mean 'target'?"),
    (("explain", "old.txt", "data.parquet", "--weight", "w8"), "--weight w8 is not a column of DATA"),
    (("explain", "old.txt", "my data.csv", "--monotone", "age"), "--monotone age must be a name and a value"),
    (("compare", "old.txt", "old.json"), "old.txt is not a result saved by paribus"),
    (("compare", "old.json", "none.json"), "there is no file none.json"),
    (("compare", "old.json", "old.json", "--fail-above", "-1"), "must be a number that is not negative"),
    (("compare", "old.json", "old.json", "--independent"), "over the same rows; omit it"),
    (("compare", "effect.json", "old.json"), "effect.json holds a PartialDependence"),
    (("compare", "old.json"), "the following arguments are required: NEW"),
    (
        ("compare", "old.json", "old.json", "--fail-metric", "AUC"),
        "--fail-metric AUC must be a bound, or the",
    ),
    (("compare", "old.json", "old.json", "--fail-metric", "0.1"), "have no metric in common; explain both"),
]


@pytest.mark.parametrize(("arguments", "message"), FAILURES, ids=[" ".join(a) for a, _ in FAILURES])
def test_errors_of_the_user_are_one_sentence(run, folder, arguments, message):
    if not (folder / "effect.json").exists():
        paribus.load(folder / "old.json").effects["age"].save(folder / "effect.json")
    before = sorted(folder.iterdir())
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("paribus: ")
    assert message in err
    assert sorted(folder.iterdir()) == before


def test_our_own_errors_show_a_traceback_on_request_only(run, monkeypatch):
    def broken(*arguments):
        raise KeyError("surprise")

    monkeypatch.setattr(explain_command, "_check", broken)
    code, _, err = run("explain", "old.txt", "my data.csv")
    assert code == 3
    assert "KeyError: 'surprise'. This is an internal error of paribus" in err
    assert "Traceback" not in err
    assert "Traceback" in run("explain", "old.txt", "my data.csv", "--debug")[2]
    assert "Traceback" in run("--debug", "explain", "old.txt", "my data.csv")[2]


def test_interrupt_ends_without_traceback(run, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(explain_command, "_check", stopped)
    assert run("explain", "old.txt", "my data.csv") == (130, "", "paribus: interrupted\n")


def started(folder, *arguments, **options):
    command = [sys.executable, "-m", "paribus", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False, **options)


@pytest.mark.nightly
def test_closed_pipe_and_terminal_without_unicode(folder):
    plain = os.environ | {"PYTHONIOENCODING": "ascii"}
    shown = started(folder, "compare", "old.json", "moved.json", env=plain)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b" +/- " in shown.stdout
    shown.stdout.decode("ascii")
    script = "import sys; from paribus.__main__ import main; sys.stdout.close; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "compare", "old.json", "old.json"]
    read, write = os.pipe()
    os.close(read)  # nobody reads
    ended = subprocess.run(command, cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_names_cannot_control_the_terminal(run, folder):
    frame = pd.DataFrame({"a\x1b[31m": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0]})
    for name, factor in (("hostile", 1.0), ("changed", 2.0)):
        explanation = paribus.explain(
            lambda t, by=factor: by * np.asarray(t.iloc[:, 0]), frame, progress=False
        )
        explanation.save(folder / f"{name}.json")
    out = run("compare", "hostile.json", "changed.json")[1]
    assert "\x1b" not in out
    assert "a\\x1b[31m" in out


OVERWRITING = {
    "model": ["explain", "model.json", "data.parquet", "-o", "model.json"],
    "another spelling": ["explain", "model.json", "data.parquet", "-o", "../inputs/model.json"],
    "symbolic link": ["explain", "model.json", "data.parquet", "-o", "linked.json"],
    "hard link": ["explain", "model.json", "data.parquet", "--save", "hard.json"],
    "data": ["explain", "model.json", "data.json", "-o", "data.json"],
    "data by address": ["explain", "model.json", "file://{here}/data.json", "-o", "data.json"],
    "file in a folder": ["explain", "model.json", "parts", "-o", "parts/one.json"],
    "file of a pattern": ["explain", "model.json", "parts/*.json", "-o", "parts/one.json"],
    "compared": ["explain", "model.json", "data.parquet", "-o", "new.html", "--compare", "new.html"],
    "old of compare": ["compare", "old.json", "model.json", "--save", "old.json"],
    "new of compare": ["compare", "model.json", "old.json", "--save", "old.json"],
}


@pytest.mark.parametrize("words", OVERWRITING.values(), ids=OVERWRITING)
def test_output_that_is_an_input_is_refused_and_the_input_is_untouched(
    run, folder, tmp_path, words, monkeypatch
):
    here = tmp_path / "inputs"
    (here / "parts").mkdir(parents=True)
    for name, source in (
        ("model.json", "old.txt"),
        ("old.json", "old.json"),
        ("new.html", "old.json"),
        ("data.parquet", "data.parquet"),
        ("data.json", "data.parquet"),
        ("parts/one.json", "data.parquet"),
    ):
        (here / name).write_bytes((folder / source).read_bytes())
    (here / "linked.json").symlink_to(here / "model.json")
    (here / "hard.json").hardlink_to(here / "model.json")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    monkeypatch.chdir(here)
    code, out, err = run(*(word.format(here=here) for word in words))
    assert (code, out) == (2, "")
    assert "would overwrite an input" in err
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_output_beside_inputs_is_written_and_written_again(run, folder, tmp_path):
    for _ in range(2):
        words = ("explain", "old.txt", "data.parquet", "-o", str(tmp_path / "report.md"), "--quiet")
        assert run(*words)[0] == 0


def test_explain_takes_percentiles_between_which_curves_are(run, folder):
    code, _, _ = run(
        "explain", "old.txt", "data.parquet", "-o", "wide.json", "--percentiles", "0.2", "0.8", "--quiet"
    )
    assert code == 0
    effect = paribus.load("wide.json").effects["power kW"]
    power = pd.read_parquet(folder / "data.parquet")["power kW"]
    assert effect.grid_values[0][[0, -1]] == pytest.approx(np.nanquantile(power, [0.2, 0.8]))
    assert effect.provenance.percentiles == (0.2, 0.8)
    assert run("explain", "old.txt", "data.parquet", "-o", "whole.json", "--quiet")[0] == 0
    whole = paribus.load("whole.json").effects["power kW"]
    assert whole.grid_values[0][[0, -1]].tolist() == [power.min(), power.max()]
    assert whole.provenance.percentiles is None
    code, _, error = run("explain", "old.txt", "data.parquet", "--percentiles", "0.9", "0.1", "--quiet")
    assert code == 2
    assert "percentiles" in error
