"""A statistic from options of `Explainer` and of its method, given together."""

import inspect

import paribus


def statistic_of(verb, estimator, X, *arguments, **options):
    """Return the result of a method, whose positional arguments are those of the function of its name."""
    names = inspect.signature(paribus.Explainer).parameters
    run = {name: options.pop(name) for name in names & options.keys()}
    target, arguments = (arguments[:1], arguments[1:]) if verb == "explain" else ((), arguments)
    explainer = paribus.Explainer(estimator, X, *target, **run)
    return getattr(explainer, verb)(*arguments, **options)
