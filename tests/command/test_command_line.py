"""The command line as its users type it: what is written where, and with which exit code."""

import json
import os
import pickle
import subprocess
import sys

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import paribus
from paribus.__main__ import main
from paribus._command import entry, explain_command
from paribus._command.data_files import read_data


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
    frame.to_feather(home / "data.feather")
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
    assert "paribus compare old.json new.json --fail-above 0.05" in out
    assert "exit codes: 0 fine, 1 the gate failed, 2 what was passed cannot be used, 3" in out


@pytest.mark.parametrize("command", ["explain", "compare", "inspect", "show", "compile"])
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
    for name in ("my data.csv", "semicolon.csv", "data.feather"):
        data = read_data(str(folder / name), "target", "weight")
        assert data.X.column_names == ["age", "power kW", "city"]
        assert len(data.y) == len(data.sample_weight) == 400
        tables[name] = data.X.to_pandas().astype({"city": str})
    assert tables["my data.csv"].equals(tables["semicolon.csv"])
    assert tables["my data.csv"].equals(tables["data.feather"])
    parquet = read_data(str(folder / "data.parquet"), "target", "weight")
    assert (parquet.y, parquet.sample_weight) == ("target", "weight")


def test_column_that_is_weight_and_feature_stays_a_feature(folder):
    model = paribus.read_model(folder / "old.txt")
    data = read_data(str(folder / "my data.csv"), "target", "age", model=model)
    assert data.X.column_names == ["age", "power kW", "city", "weight"]
    assert data.sample_weight.min() >= 18


def test_arrow_stream_and_compressed_csv(folder):
    table = read_data(str(folder / "data.feather")).X
    with pa.ipc.new_stream(folder / "data.arrows", table.schema) as stream:
        stream.write_table(table)
    assert read_data(str(folder / "data.arrows")).X.equals(table)
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
    assert run("show", "kept.json")[1] == out
    report = ("-o", "r.html", "--title", "Motor", "--about", "owner=A = B", "--compare", "old.json")
    assert run("explain", "moved.txt", "my data.csv", "--quiet", *report)[0] == 0
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "Motor" in page
    assert "A = B" in page
    assert paribus.load(folder / "r.html").feature_names == paribus.load(folder / "moved.json").feature_names
    assert run("explain", "moved.txt", "my data.csv", "--quiet", "--features", "age", "-o", "r.md")[0] == 0
    assert (folder / "r.md").read_text(encoding="utf-8").startswith("# moved\\.txt on my data\\.csv\n")
    assert run("show", "kept.json", "-o", "kept.md")[0] == 0
    assert "age" in (folder / "kept.md").read_text(encoding="utf-8")


def test_compare_is_a_gate(run, folder):
    code, out, err = run("compare", "old.json", "moved.json", "--fail-above", "0.05", "--save", "drift.json")
    assert code == 1
    assert out.startswith("Drift, ")
    assert err.startswith("paribus: failed: above 5 % of the spread: age (")
    assert run("show", "drift.json")[1] == out
    code, _, err = run("compare", "old.json", "old.json", "--fail-above", "0.05")
    assert (code, err) == (0, "paribus: passed: no change is above 5 % of the spread\n")
    code, out, err = run("compare", "old.json", "moved.json")
    assert (code, err) == (0, "")
    assert run("compare", "old.json", "moved.json", "--fail-above", "9", "--unit", "prediction")[0] == 0
    assert run("compare", "old.json", "moved.json", "--fail-above", "0.05", "--measure", "largest")[0] == 1
    code, out, _ = run("compare", "old.json", "moved.json", "--format", "csv")
    assert out.splitlines()[0].startswith("kind,feature,feature_2,output,old,new,change")
    rows = json.loads(run("compare", "old.json", "moved.json", "--format", "json")[1])
    assert {row["kind"] for row in rows} == {"level", "effect", "interaction"}


def test_inspect_reports_what_the_file_holds(run):
    code, out, err = run("inspect", "old.txt")
    assert (code, err) == (0, "")
    assert "format     LightGBM text, format v4\n" in out
    assert "15 trees" in out
    assert "city: 3 categories: Bern, Genf, Zürich" in out
    code, out, _ = run("inspect", "old.txt", "my data.csv")
    assert code == 0
    assert "evaluator  tree_exact" in out
    assert "not compared with its library" in out


def test_show_writes_tables_and_pictures(run, folder):
    code, out, _ = run("show", "old.json", "--feature", "city", "--format", "csv")
    assert code == 0
    assert out.splitlines()[0].startswith("output,city,average,standard_error")
    assert len(json.loads(run("show", "old.json", "--feature", "city", "--format", "json")[1])) == 3
    assert run("show", "old.json", "--feature", "age", "--format", "svg")[1].startswith("<svg")
    assert run("show", "old.json", "--feature", "age", "-o", "age.png")[2] == "paribus: wrote age.png\n"
    assert (folder / "age.png").read_bytes().startswith(b"\x89PNG")


FAILURES = [
    (("explian",), "invalid choice: 'explian'"),
    (("explain", "old.txt"), "the following arguments are required: DATA; see paribus explain --help"),
    (("explain", "none.txt", "my data.csv"), "path='none.txt' does not exist"),
    (("explain", "model.pkl", "my data.csv"), "can run any code when it is loaded, and is refused"),
    (("explain", "old.txt", "none.csv"), "there is no file or folder none.csv"),
    (("explain", "old.txt", "none-*.parquet"), "X='none-*.parquet': no file matches this pattern"),
    (("explain", "old.txt", "old.txt"), "DATA old.txt cannot be read: CSV parse error"),
    (("explain", "old.txt", "old.json"), "does not begin as a Parquet or Arrow file"),
    (("explain", "old.txt", "no parquet"), "is a folder without Parquet files"),
    (("explain", "old.txt", "my data.csv", "-o", "r.docx"), "-o r.docx must end in .html, .json, .md"),
    (("explain", "old.txt", "my data.csv", "-o", "none/r.html"), "there is no folder none; create it first"),
    (("explain", "old.txt", "my data.csv", "--save", "r.txt"), "--save r.txt must end in .json"),
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
    (("show", "old.json", "--feature", "agee"), "did you mean 'age'?"),
    (("show", "old.json", "-o", "x.docx"), "does not end in .txt"),
    (("show", "old.json", "--format", "html"), "pass -o report.html"),
    (("show", "effect.json", "--format", "markdown"), "this PartialDependence has no markdown"),
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
    assert "KeyError: 'surprise'. This is an error of paribus" in err
    assert "Traceback" not in err
    assert "Traceback" in run("explain", "old.txt", "my data.csv", "--debug")[2]
    assert "Traceback" in run("--debug", "explain", "old.txt", "my data.csv")[2]
    monkeypatch.setenv(entry.DEBUG, "1")
    assert "Traceback" in run("explain", "old.txt", "my data.csv")[2]


def test_png_without_matplotlib_names_the_package(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = run("show", "old.json", "--feature", "age", "--format", "png")
    assert code == 2
    assert 'pip install "paribus[plot]"' in err


def test_interrupt_ends_without_traceback(run, monkeypatch):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(explain_command, "_check", stopped)
    assert run("explain", "old.txt", "my data.csv") == (130, "", "paribus: interrupted\n")


def started(folder, *arguments, **options):
    command = [sys.executable, "-m", "paribus", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False, **options)


def test_closed_pipe_and_terminal_without_unicode(folder):
    plain = os.environ | {"PYTHONIOENCODING": "ascii"}
    shown = started(folder, "show", "old.json", "--feature", "city", env=plain)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"Z\\xfcrich" in shown.stdout or b"from " in shown.stdout
    shown.stdout.decode("ascii")
    script = "import sys; from paribus.__main__ import main; sys.stdout.close; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "show", "old.json", "--feature", "age", "--format", "csv"]
    read, write = os.pipe()
    os.close(read)  # nobody reads
    ended = subprocess.run(command, cwd=folder, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_names_cannot_control_the_terminal(run, folder):
    frame = pd.DataFrame({"a\x1b[31m": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 1.0]})
    paribus.effects(lambda t: np.asarray(t["b"]), frame, progress=False).save(folder / "hostile.json")
    out = run("show", "hostile.json")[1]
    assert "\x1b" not in out
    assert "a\\x1b[31m" in out
