"""Plugins: packages that provide a reader of models or an executor by an entry point."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import paribus
from paribus import _loading
from paribus._models import libraries
from paribus.results.provenance import reproducible
from statistic_of import statistic_of

HERE = Path(__file__).parent
X = np.random.default_rng(0).normal(size=(900, 3))
QUIET = {"grid_resolution": 7, "progress": False}


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that writes a package with one entry point to a folder of the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def installed(name, code, group, point):
        (tmp_path / f"{name}.py").write_text(code)
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[paribus.{group}]\n{point}\n")
        forget()
        return tmp_path

    def forget():
        _loading.plugins.cache_clear()
        libraries._plugin_library.cache_clear()

    yield installed
    for name in [name for name, module in sys.modules.items() if within(module, tmp_path)]:
        del sys.modules[name]
    forget()


def within(module, folder):
    return str(folder) in str(getattr(module, "__file__", ""))


TREES = (HERE / "toy_trees.py").read_text()
POOL = (HERE / "toy_executor.py").read_text()
DECLARED = """

class PluginTrees(ToyTrees):
    module = "plugin_trees"
    constraint_parameters = ("directions",)
    deviance_powers = {"toy_gamma": 2.0}
    other_scale_objectives = ("toy_rank",)
    probability_objectives = ("toy_odds",)
"""


def stumps():
    import plugin_trees

    return plugin_trees.Stumps((0, 0.1, 1.0, 2.0), (1, -0.5, 0.0, 4.0), (0, 0.9, 0.5, -0.5))


def test_library_of_a_plugin_is_exact(install):
    install("plugin_trees", TREES + DECLARED, "libraries", "plugin_trees = plugin_trees:PluginTrees")
    exact = paribus.effects(stumps(), X, method="exact", **QUIET)
    brute = paribus.effects(stumps(), X, method="brute", **QUIET)
    assert exact["x0"].provenance.evaluator == "tree_exact"
    for name, effect in brute.items():
        np.testing.assert_allclose(exact[name].average, effect.average, rtol=1e-12)


def test_objectives_and_constraints_of_a_plugin_are_known(install):
    from paribus._api.model_facts import model_directions
    from paribus._models.scoring.targets import family_of, other_scale, predicts_probability

    install("plugin_trees", TREES + DECLARED, "libraries", "plugin_trees = plugin_trees:PluginTrees")
    model = stumps()
    model.params = {"objective": "toy_gamma", "directions": [1, 0, -1]}
    assert family_of(model).power == 2.0
    directions = model_directions(model, ("a", "b", "c"), ("y",))
    assert directions == {"a": {"y": "rising"}, "c": {"y": "falling"}}
    assert other_scale(model) is None
    assert not predicts_probability(model)
    model.params = {"objective": "toy_ranks"}
    assert "toy_ranks" in other_scale(model)
    model.params = {"objective": "toy_odds"}
    assert predicts_probability(model)


def test_library_of_paribus_has_precedence(install):
    from sklearn.ensemble import RandomForestRegressor

    install("plugin_trees", "raise ImportError('not needed')", "libraries", "sklearn = plugin_trees:Any")
    forest = RandomForestRegressor(3, max_depth=3).fit(X, X[:, 0])
    assert paribus.effects(forest, X, method="exact", **QUIET)["x0"].provenance.evaluator == "tree_exact"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError('old numpy')", "ImportError: old numpy"),
        ("Reader = 3", "TypeError: plugin_reader:Reader has no module"),
        ("", "AttributeError: module 'plugin_reader' has no attribute 'Reader'"),
    ],
)
def test_library_that_cannot_be_loaded_is_named_where_it_is_needed(install, code, words):
    folder = install("plugin_reader", code, "libraries", "plugin_trees = plugin_reader:Reader")
    (folder / "plugin_trees.py").write_text(TREES)
    with pytest.raises(paribus.errors.InputError, match="plugin 'plugin_trees' of plugin_reader") as raised:
        paribus.effects(stumps(), X, **QUIET)
    assert words in str(raised.value)
    assert str(raised.value).endswith("update or uninstall plugin_reader")
    assert paribus.effects(lambda t: t[:, 0], X, **QUIET)["x0"].provenance.rows == len(X)


def test_executor_of_a_plugin_gives_the_bits_of_one_process(install):
    install("plugin_pool", POOL, "executors", "pool = plugin_pool:PoolExecutor")
    want = paribus.effects(lambda t: t[:, 0] * t[:, 1], X, **QUIET)
    with ThreadPoolExecutor(3) as pool:
        have = statistic_of("effects", lambda t: t[:, 0] * t[:, 1], X, executor=pool, **QUIET)
    assert have["x0"].provenance.executor == "a ThreadPoolExecutor"
    assert reproducible(have) == reproducible(want)


def test_executor_that_cannot_be_loaded_is_named_if_no_other_accepts(install):
    install("plugin_broken", "raise ImportError('no engine')", "executors", "a = plugin_broken:Engine")
    with pytest.raises(
        paribus.errors.OptionError, match=r"executor=3 must be .* plugin 'a' of plugin_broken .*no engine"
    ):
        statistic_of("effects", lambda t: t[:, 0], X, executor=3, **QUIET)
    install("plugin_pool", POOL, "executors", "pool = plugin_pool:PoolExecutor")
    with ThreadPoolExecutor(3) as pool:
        found = statistic_of("effects", lambda t: t[:, 0], X, executor=pool, **QUIET)
    assert found["x0"].provenance.executor == "a ThreadPoolExecutor"


def test_executor_without_accepts_is_named(install):
    install("plugin_pool", "class Engine: pass", "executors", "pool = plugin_pool:Engine")
    with pytest.raises(paribus.errors.OptionError, match="plugin_pool:Engine has no accepts"):
        statistic_of("effects", lambda t: t[:, 0], X, executor=3, **QUIET)


@pytest.mark.nightly
def test_plugins_are_not_listed_at_import_nor_for_models_of_paribus():
    code = (
        "import numpy as np, paribus\n"
        "from paribus._loading import plugins\n"
        "from sklearn.linear_model import LinearRegression\n"
        "X = np.arange(20.0).reshape(10, 2) ** 2\n"
        "model = LinearRegression().fit(X, X[:, 0])\n"
        "for one in (model, model.predict): paribus.effects(one, X, progress=False)\n"
        "assert plugins.cache_info().misses == 0\n"
        "class Foreign:\n"
        "    def predict(self, X): return X[:, 0]\n"
        "paribus.effects(Foreign(), X, progress=False)\n"
        "assert plugins.cache_info().misses == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
