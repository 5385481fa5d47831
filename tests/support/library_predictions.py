"""Predictions that a library makes from a model file, which may be damaged and end the process that loads it.

`predicted_by_library` starts this file once for each library. The process imports the library and forks for each file, so that a
crash costs nothing but the fork.
"""

import contextlib
import importlib
import os
import pickle
import select
import signal
import subprocess
import sys
from functools import cache

SECONDS = 30  # after which a library hangs


def predicted_by_library(library, path, rows):
    """Return the predictions of rows by the model in a file, or in words that the library has none.

    Parameters
    ----------
    library : {"xgboost", "lightgbm", "catboost"}
        The library that loads the file. Those of CatBoost are margins.
    path : path
        The file.
    rows : DataFrame
        What it predicts.

    Returns
    -------
    ndarray or str
    """
    server = _server(library)
    pickle.dump((str(path), rows), server.stdin)
    server.stdin.flush()
    return pickle.load(server.stdout)


@cache
def _server(library):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    alone = {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, __file__, library], env=os.environ | alone, **pipes)


def _serve(library):
    """Answer what is requested on the input, until it ends; a library prints elsewhere."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    module = importlib.import_module(library)
    while True:
        try:
            path, rows = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_forked(lambda path=path, rows=rows: PREDICT[library](module, path, rows)), answers)
        answers.flush()


def _forked(predict):
    """Return what a function returns in a fork of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = predict()
        except Exception:  # whatever a library raises, it did not load the file
            answer = "and its library refuses"
        with os.fdopen(writing, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answered:
        ready, _, _ = select.select([answered], [], [], SECONDS)
        if not ready:
            os.kill(child, signal.SIGKILL)
        content = answered.read()
    os.waitpid(child, 0)
    return pickle.loads(content) if content else f"and its library {'crashes' if ready else 'hangs'}"


def _by_xgboost(xgboost, path, rows):
    booster = xgboost.Booster({"nthread": 1}, model_file=path)
    return booster.predict(xgboost.DMatrix(rows, enable_categorical=True, nthread=1))


def _by_lightgbm(lightgbm, path, rows):
    return lightgbm.Booster(model_file=path).predict(rows, validate_features=True, num_threads=1)


def _by_catboost(catboost, path, rows):
    return catboost.CatBoost().load_model(path, format="json").predict(rows, thread_count=1)


PREDICT = {"xgboost": _by_xgboost, "lightgbm": _by_lightgbm, "catboost": _by_catboost}

if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        _serve(sys.argv[1])
