"""The house itself: public names, imports, documentation, packaging."""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

import paribus
import public_names
from paribus import _budget, errors
from paribus._api.explaining import ExplainOptions
from paribus._api.options import STATISTICS

ROOT = Path(__file__).parent.parent

HEAVY = (
    "matplotlib",
    "plotly",
    "numba",
    "xgboost",
    "lightgbm",
    "catboost",
    "dask",
    "pandas",
    "polars",
    "sklearn",
    "scipy",
    "tqdm",
)


def test_what_is_public_is_what_is_listed():
    for name in paribus.__all__:
        getattr(paribus, name)  # functions, results and scikit-learn's display are loaded on first use
    public = {name for name in vars(paribus) if not name.startswith("_")}
    modules = {name for name in public if inspect.ismodule(getattr(paribus, name))}
    assert public - modules == set(paribus.__all__) - {"__version__"}
    assert dir(paribus) == sorted([*paribus.__all__, "errors", "notes", "results"])
    assert list(paribus.__all__) == sorted(paribus.__all__)
    assert list(paribus.results.__all__) == sorted(paribus.results.__all__)
    assert len(paribus.__all__) <= 24


def test_a_class_that_is_not_at_the_top_is_found_where_it_is():
    with pytest.raises(AttributeError, match=r"no attribute 'NoteCode'; it is paribus.notes.NoteCode"):
        paribus.NoteCode  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'Effects'; it is paribus.results.Effects"):
        paribus.Effects  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'predict'$"):
        paribus.predict  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'StrEnum'$"):
        paribus.StrEnum  # noqa: B018


PUBLIC = [getattr(paribus, name) for name in paribus.__all__ if name != "__version__"]
PUBLIC += [getattr(paribus.results, name) for name in paribus.results.__all__ if name != "Explanation"]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_every_public_name_is_documented(thing):
    assert inspect.getdoc(thing)
    if inspect.isfunction(thing):
        text = inspect.getdoc(thing)
        for section in ("Parameters", "Returns", "Examples"):
            assert f"{section}\n---" in text
        for parameter in inspect.signature(thing).parameters:
            assert re.search(rf"\b{parameter}\b", text), parameter


@pytest.mark.parametrize("options", [*STATISTICS, ExplainOptions], ids=lambda one: one.verb)
def test_options_are_the_arguments_of_the_function_and_of_the_method(options):
    declared = {one.name: one.type for one in dataclasses.fields(options)}
    assert all(one.default is dataclasses.MISSING for one in dataclasses.fields(options))
    method, function, shared = (
        {name: (one.default, one.annotation) for name, one in inspect.signature(thing).parameters.items()}
        for thing in (
            getattr(paribus.Explainer, options.verb),
            getattr(paribus, options.verb),
            paribus.Explainer,
        )
    )
    del method["self"]
    assert {name: annotation for name, (_, annotation) in method.items()} == declared
    assert function.items() <= shared.items() | method.items()
    assert method.keys() <= function.keys()
    described = inspect.getdoc(getattr(paribus.Explainer, options.verb))
    assert all(re.search(rf"\b{name}\b", described) for name in declared)


def test_public_functions_are_short_enough_to_be_read():
    functions = [thing for thing in PUBLIC if inspect.isfunction(thing)]
    assert len(functions) > 8
    for function in functions:
        assert len(inspect.signature(function).parameters) <= 18, function
        assert len(inspect.getdoc(function).splitlines()) <= 90, function


RUN = {"feature_names", "times", "max_memory", "executor", "checkpoint", "on_error", "verify"}


@pytest.mark.parametrize("options", [*STATISTICS, ExplainOptions], ids=lambda one: one.verb)
def test_options_of_the_run_are_those_of_explainer_alone(options):
    shared = inspect.signature(paribus.Explainer).parameters.keys()
    alone = RUN if options is ExplainOptions else RUN | {"target_names"}
    assert alone <= shared
    assert not alone & inspect.signature(getattr(paribus, options.verb)).parameters.keys()
    assert "`Explainer`" in inspect.getdoc(getattr(paribus, options.verb))


def parameter_descriptions():
    """Yield the public name, the parameter and the description of every documented parameter."""
    for name in [*public_names.NAMES, *public_names.PARTS]:
        item = public_names.found(name)
        documents = {name: FunctionDoc(item)} if inspect.isfunction(item) else {}
        if inspect.isclass(item):
            documents[name] = ClassDoc(item, config={"show_class_members": False})
            for method in public_names.members(name)["methods"]:
                documents[f"{name}.{method}"] = FunctionDoc(inspect.unwrap(getattr(item, method)))
        for place, document in documents.items():
            for entry in [*document["Parameters"], *document.get("Attributes", [])]:
                yield place, entry.name, " ".join(entry.desc)


def test_descriptions_of_public_parameters_have_at_most_thirty_words():
    descriptions = list(parameter_descriptions())
    assert len(descriptions) > 500
    assert [description for description in descriptions if len(description[2].split()) > 30] == []


def test_importing_is_light():
    code = f"import sys, paribus; print([m for m in {HEAVY!r} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


@pytest.mark.alone
def test_importing_costs_about_what_numpy_costs():
    """A ratio within one process, so that a busy machine slows both."""
    code = (
        "from time import perf_counter as now; a = now(); import numpy; b = now(); import paribus; c = now();"
        "print((c - b) / (b - a))"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(7)]
    assert min(float(run.stdout) for run in runs) < 2.0


def test_computing_never_draws():
    code = """
import sys, numpy as np, paribus
effect = paribus.effects(lambda t: t[:, 0], np.random.default_rng(0).normal(size=(30, 2)))
repr(effect)
effect.figure()
assert not [m for m in ("matplotlib", "plotly", "sklearn", "pandas", "polars") if m in sys.modules]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_error_tree_is_drawn_as_it_is():
    drawn = set(re.findall(r"\b(\w+Error)\b", errors.__doc__)) - {"ValueError", "MemoryError"}
    real = {n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, errors.ParibusError)}
    assert drawn == real
    assert "ParibusError" in paribus.__all__


@cache
def parsed(path):
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text())


def test_functions_are_short():
    long = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                size = node.end_lineno - body[0].lineno + 1 if body else 0
                if size > 80:
                    long.append(f"{path.name}:{node.name} {size}")
    assert not long


def test_fields_are_declared_by_array_types_that_can_be_read():
    """NDArray of numpy 2.5 hides class and dtype from what checks fields and reads files and states."""
    kept = [*(ROOT / "src/paribus/_states").rglob("*.py"), *(ROOT / "src/paribus/results").rglob("*.py")]
    assert len(kept) > 30
    assert not [path.name for path in kept if "NDArray" in path.read_text()]
    assert "import NDArray" not in (ROOT / "src/paribus/_contracts.py").read_text()


def test_versions_have_no_upper_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = [
        entry.split(";")[0] for entry in project["project"]["dependencies"]
    ]  # without where it is needed
    pinned = [d for d in named if re.search(r"[<=]=|<|~=", d.replace(">=", ""))]
    assert not pinned
    assert (ROOT / "src/paribus/py.typed").exists()


def test_the_diagram_in_the_architecture_page_is_the_one_that_is_linted():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    drawn = " > ".join(layer.replace("paribus.", "") for layer in layers)
    page = " ".join((ROOT / "ARCHITECTURE.md").read_text().split())
    assert drawn in page


def _modules():
    """Return the syntax trees of all modules by name."""
    found = {}
    for path in (ROOT / "src").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        found[name.removesuffix(".__init__")] = parsed(path)
    return found


def _imports(tree, modules):
    """Yield the modules a module imports, in functions and by name too, but not what only type checkers see.

    The package and its results load their public names on first use, from ``paribus.``, which is left out.
    """
    types = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    unseen = {id(node) for block in types for statement in block.body for node in ast.walk(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != "paribus.":
            folder = node.value.endswith(".") and node.value.removesuffix(".") in modules
            yield from (
                name for name in modules if name == node.value or (folder and name.startswith(node.value))
            )
        if isinstance(node, ast.Import) and id(node) not in unseen:
            yield from (alias.name for alias in node.names if alias.name in modules)
        if isinstance(node, ast.ImportFrom) and id(node) not in unseen:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                yield from {module, node.module} & set(modules) if module not in modules else [module]


def _circles(graph):
    """Return the modules that are left when all are taken away that import none, or that none imports."""
    left = dict(graph)
    while True:
        imported = {module for modules in left.values() for module in modules}
        inside = {m: found & set(left) for m, found in left.items() if found & set(left) and m in imported}
        if inside == left:
            return inside
        left = inside


def test_no_modules_import_each_other_in_a_circle():
    """The doors are from results to their pictures and pages, which open when one is requested."""
    modules = _modules()
    graph = {name: set(_imports(tree, modules)) - {name} for name, tree in modules.items()}
    door = {module for module in graph["paribus.results.mixins"] if module.startswith("paribus._display.")}
    assert door == {f"paribus._display.{name}" for name in ("output", "pictures")}
    graph["paribus.results.mixins"] -= door
    pages = {"paribus._report.pages"}
    assert pages < graph["paribus.results.mixins"]
    graph["paribus.results.mixins"] -= pages
    assert _circles(graph) == {}


def test_free_memory_is_that_of_the_container(tmp_path, monkeypatch):
    for name, text in {
        "memory.max": "3000000000",
        "memory.current": "2500000000",
        "memory.stat": "anon 500000000\nactive_file 400000000\ninactive_file 100000000",
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(_budget, "CONTAINER", ((str(tmp_path), "memory.max", "memory.current"),))
    assert _budget.free_memory() == 1_000_000_000
    (tmp_path / "memory.max").write_text("max")
    assert _budget.free_memory() > 1_000_000_000


MIRRORED = (
    "_kernels/compiled",
    "_kernels/jit",
    "_models/libraries",
    "_display/matplotlib",
    "_display/plotly",
    "_display/vector",
)


def modules():
    """Modules of the package by their path below it, parsed."""
    root = Path(paribus.__file__).parent
    return {path.relative_to(root).as_posix(): parsed(path) for path in root.rglob("*.py")}


def test_no_class_name_stands_twice():
    names = [n.name for tree in modules().values() for n in tree.body if isinstance(n, ast.ClassDef)]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_no_alias_has_the_name_of_a_contract():
    trees = modules()
    contracts = {node.name for node in trees["_contracts.py"].body if isinstance(node, ast.ClassDef)}
    assert {"State", "Evaluator", "Executor"} <= contracts
    aliases = []
    for path, tree in trees.items():
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            aliases += [f"{path}:{name}" for name in names & contracts]
    assert aliases == []


def test_no_module_name_stands_twice_outside_mirrored_folders():
    places = {}
    for path in modules():
        folder, _, name = path.rpartition("/")
        home = "mirrored" if folder.startswith(MIRRORED) else folder
        if name not in ("__init__.py", "_version.py"):
            places.setdefault(name.lstrip("_"), set()).add(home)
    assert {name: sorted(homes) for name, homes in places.items() if len(homes) > 1} == {}


def test_the_glossary_names_files_and_classes_that_exist():
    page = (ROOT / "ARCHITECTURE.md").read_text().split("## Glossary")[1].split("\n## ")[0]
    entries = re.findall(r"\| `(\w+)` \| `([\w/]+\.py)` \|$", page, re.MULTILINE)
    trees = modules()
    assert len(entries) >= 30
    for name, path in entries:
        assert path in trees, path
        assert name in {node.name for node in trees[path].body if isinstance(node, ast.ClassDef)}, (
            name,
            path,
        )


def test_the_table_of_packages_names_files_and_folders_that_exist():
    """Names in the second column are below the package of the line; every folder with modules has a name."""
    page = (ROOT / "ARCHITECTURE.md").read_text().split("## Packages")[1].split("\n## ")[0]
    lines = re.findall(r"^\| (`.*?`) \| (.*) \|$", page, re.MULTILINE)
    root, named = Path(paribus.__file__).parent, set()
    for packages, contents in lines:
        named |= set(re.findall(r"`([^`]+)`", packages))
        package = root / packages.strip("`")
        if package.is_dir():
            named |= {f"{package.name}/{name}" for name in re.findall(r"`([\w/]+)`", contents)}
    modules = {path.relative_to(root) for path in root.rglob("*.py") if path.name != "__init__.py"}
    files = {path.as_posix() for path in modules if len(path.parts) == 1}
    folders = {f"{folder.as_posix()}/" for path in modules for folder in path.parents if folder.name}
    below = {path.with_suffix("").as_posix() for path in modules if len(path.parts) > 1}
    assert named - files - folders - below == set()
    assert (files | folders) - named == set()


SECTION = r"^ *{}\n *-+\n((?:(?! *\w[\w ]*\n *---)[^\n]*\n?)*)"


def section(text, name):
    """Return the entries of a section of a docstring that begin a line at its indentation."""
    found = re.search(SECTION.format(name), inspect.cleandoc(text) + "\n", re.MULTILINE)
    return [] if found is None else [line for line in found[1].split("\n") if line[:1].strip()]


def documented_classes():
    """Yield the classes of the package with their docstrings and the names that they and their bases have."""
    classes = {
        node.name: node for tree in modules().values() for node in tree.body if isinstance(node, ast.ClassDef)
    }

    def names(node):
        own = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        for part in ast.walk(node):
            if isinstance(part, ast.AnnAssign | ast.Assign):
                targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                flat = [one for target in targets for one in ast.walk(target)]
                own |= {one.id for one in flat if isinstance(one, ast.Name)}
                own |= {one.attr for one in flat if isinstance(one, ast.Attribute)}
        for base in node.bases:
            name = getattr(base.value if isinstance(base, ast.Subscript) else base, "id", None)
            own |= names(classes[name]) if name in classes else set()
        return own

    for node in classes.values():
        yield node.name, ast.get_docstring(node) or "", names(node)


def test_documented_attributes_exist():
    checked, wrong = 0, []
    for name, text, known in documented_classes():
        for line in section(text, "Attributes"):
            described = [one.strip() for one in line.partition(" : ")[0].split(",")]
            checked += len(described)
            wrong += [f"{name}.{one}" for one in described if one not in known and one.isidentifier()]
    assert checked > 250
    assert wrong == ["PartialDependenceDisplay.pd_results"]  # of scikit-learn, which it derives from


def test_documented_returns_are_annotated():
    kinds = {name for name, _, _ in documented_classes()}
    checked, wrong = 0, []
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or node.returns is None:
                continue
            for line in section(ast.get_docstring(node) or "", "Returns"):
                named = kinds & set(re.findall(r"(?<![\w.])\w+", line.rpartition(" : ")[2]))
                camel = set(re.findall(r"(?<![\w.])[A-Z][a-z]+[A-Z]\w+", line)) - kinds
                wrong += [f"{path}:{node.name} {line}"] if camel else []
                annotated = kinds & set(re.findall(r"\w+", ast.unparse(node.returns)))  # else an alias
                checked += bool(named and annotated)
                wrong += [f"{path}:{node.name} {line}"] if annotated and named - annotated else []
    assert checked > 20
    assert wrong == []
