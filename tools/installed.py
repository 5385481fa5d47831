"""Use an installed paribus: what it can do without extras, and with those that are named.

Run by the interpreter of an environment, away from the sources::

    python installed.py plot skops   # these extras are installed, and no others

Each extra has one call that needs it. Where an extra is not installed, that call must end in a sentence which
names it. ``make dist`` runs this in one environment for each extra; it needs no test library.
"""

import importlib.util
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np

import paribus

X = np.random.default_rng(0).normal(size=(200, 3))


def model(table):
    """Predict: any function is a model."""
    return table[:, 0] ** 2 + table[:, 1] * table[:, 2]


def effect():
    """Return a result to draw and to convert."""
    return paribus.partial_dependence(model, X, 0, grid_resolution=20)


def base(folder):
    """Compute, print, save and load a result, write an image and a report, and run the command."""
    every = paribus.effects(model, X)
    points, average = every["x0"].grid_values[0], every["x0"].average[0]
    brute = [model(np.column_stack([np.full(len(X), point), X[:, 1:]])).mean() for point in points]
    np.testing.assert_allclose(average, brute, rtol=1e-12)
    every.save(folder / "effects.json")
    assert paribus.load(folder / "effects.json") == every
    assert every["x0"].to_svg().startswith("<svg")
    found = paribus.explain(model, X, model(X))
    found.report(folder / "report.html", title="Installed")
    assert paribus.load(folder / "report.html").feature_names == found.feature_names
    kept = io.StringIO()
    paribus.show_versions(kept)
    assert kept.getvalue().startswith(f"paribus {paribus.__version__}\n")
    command("--help")
    assert command("--version").stdout == f"paribus {paribus.__version__}\n"
    assert command("compare", *[str(folder / "report.html")] * 2).stdout.startswith(
        "Drift, the same model, the same rows"
    )
    if importlib.util.find_spec("sklearn") is None:
        assert "pip install scikit-learn" in message(getattr, paribus, "PartialDependenceDisplay")


def command(*arguments):
    """Run the command of this environment, which must succeed."""
    script = Path(sysconfig.get_path("scripts")) / "paribus"
    done = subprocess.run([script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def message(call, *arguments):
    """Return the error of paribus that a call ends in; nothing where it goes on."""
    try:
        call(*arguments)
    except paribus.ParibusError as error:
        return str(error)
    return ""


def frames():
    """Explain text, categories and dates of pandas."""
    import pandas

    days = pandas.Series(pandas.date_range("2025-03-01", periods=len(X), tz="Europe/Zurich"))
    text = pandas.Series(["b", "a", None, "c"] * (len(X) // 4))
    table = pandas.DataFrame({"text": text, "level": text.astype("category"), "day": days})
    found = paribus.effects(lambda t: 2.0 * t["text"].isin(["a", "b"]) + (t["level"] == "c"), table)
    for name, expected in {"text": [2.25, 2.25, 0.25], "level": [1.0, 1.0, 2.0]}.items():
        averages = found[name].to_frame().set_index(name)["average"]
        assert averages[["a", "b", "c"]].tolist() == expected, averages
    shown = pandas.Series(found["day"].grid_values[0]).dt.tz_localize("UTC")
    assert shown.isin(days).all(), shown  # midnights in summer and in winter


def parquet(folder):
    """Read a file block by block, and in a table of Arrow."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({name: X[:, j] for j, name in enumerate("abc")})
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    found = paribus.partial_dependence(reads_columns, folder / "rows.parquet", 0, grid_resolution=20)
    np.testing.assert_array_equal(found.average, effect().average)
    assert found.to_frame(backend="pyarrow").num_rows == 20


def reads_columns(table):
    """Predict from a table of Arrow or pandas."""
    return model(np.column_stack([np.asarray(table[name]) for name in "abc"]))


def plot(folder):
    """Draw with matplotlib."""
    effect().plot()


def plotly(folder):
    """Write a page of plotly."""
    effect().plot(backend="plotly").write_html(folder / "curve.html")


def dask(folder):
    """Compute on a cluster of this process, with the same bits."""
    from distributed import Client

    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        there = paribus.Explainer(model, X, executor=client).partial_dependence(0, grid_resolution=20)
    np.testing.assert_array_equal(there.average, effect().average)


def spark(folder):
    """Compute on Spark, with the same bits, if there is Java."""
    from pyspark.sql import SparkSession

    if shutil.which("java") is None:
        return
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    there = paribus.Explainer(model, X, executor=session).partial_dependence(0, grid_resolution=20)
    session.stop()
    np.testing.assert_array_equal(there.average, effect().average)


def skops(folder):
    """Read a file of scikit-learn's, which skops depends on."""
    import skops.io
    from sklearn.linear_model import LinearRegression

    skops.io.dump(LinearRegression().fit(X, X[:, 0]), folder / "model.skops")
    found = paribus.partial_dependence(paribus.read_model(folder / "model.skops"), X, 0, grid_resolution=20)
    np.testing.assert_allclose(found.average[0], found.grid_values[0], atol=1e-9)


def trees(folder):
    """Evaluate trees with the kernels there are: numba compiles them for each environment anew."""
    from sklearn.ensemble import GradientBoostingRegressor

    fitted = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, model(X))
    found = paribus.Explainer(fitted, X, verify=True).partial_dependence(0, grid_resolution=20)
    compiled = importlib.util.find_spec("numba") is not None
    assert found.provenance.evaluator == "tree_exact"
    assert ("numba is not installed" in found.provenance.how) != compiled, found.provenance.how


def lacks_parquet(folder):
    """Name a file that only pyarrow can read."""
    paribus.partial_dependence(reads_columns, folder / "rows.parquet", 0)


def lacks_skops(folder):
    """Read a file that only skops can read."""
    with zipfile.ZipFile(folder / "model.skops", "w") as file:
        file.writestr("schema.json", "{}")
    paribus.read_model(folder / "model.skops")


PRESENT = {
    "parquet": parquet,
    "plot": plot,
    "plotly": plotly,
    "dask": dask,
    "spark": spark,
    "skops": skops,
}
# Who has no Dask or Spark has no client or session to pass.
ABSENT = {"parquet": lacks_parquet, "plot": plot, "plotly": plotly, "skops": lacks_skops}


def main(extras):
    """Check the installation this interpreter has."""
    home = Path(paribus.__file__).resolve()
    assert home.is_relative_to(Path(sys.prefix).resolve()), f"{home} is not what was installed"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if len(extras) != 1:  # one extra changes nothing of what needs none
            base(folder)
        for extra in extras:
            PRESENT[extra](folder)
        if extras == ["skops"]:  # which brings scikit-learn; once is enough
            trees(folder)
        if importlib.util.find_spec("pandas") is not None:
            frames()
        files = {"parquet"} if {"dask", "spark"} & set(extras) else set()  # which these extras include
        assert (importlib.util.find_spec("pyarrow") is not None) == ("parquet" in files | set(extras))
        for extra in ABSENT.keys() - files - set(extras):
            said = message(ABSENT[extra], folder)
            assert f"pip install 'paribus[{extra}]'" in said, f"without {extra}: {said!r}"


if __name__ == "__main__":
    main(sys.argv[1:])
