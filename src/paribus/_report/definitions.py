"""What the numbers of the page are, with formulas, and what the page does not show."""

from __future__ import annotations

from paribus._report.markup import Content, Markup, element, joined

Formula = tuple[Content, ...]


def _sub(text: str) -> Markup:
    return element("sub", text)


def _sup(text: str) -> Markup:
    return element("sup", text)


AVERAGE: Formula = (
    "PD",
    _sub("j"),
    "(v) = 1/W · Σ",
    _sub("i"),
    " w",
    _sub("i"),
    " f(v, x",
    _sub("i, −j"),
    ")",
)
DEFINITIONS: tuple[tuple[str, Formula | None, str], ...] = (
    (
        "Partial dependence",
        AVERAGE,
        "The average prediction with the feature set to v in all rows, all else unchanged. W is the sum of "
        "the weights, which are 1 where none were given.",
    ),
    (
        "Individual curves (ICE)",
        ("f", _sub("i"), "(v) = f(v, x", _sub("i, −j"), ")"),
        "The curve of each row, of which the page has quantiles at each value and no single one.",
    ),
    (
        "Standard error",
        ("sd", _sub("i"), " f(v, x", _sub("i, −j"), ") / √n"),
        "Of an average over rows, as if the rows were a random sample; with weights, n is the effective "
        "number. It says nothing about another model fitted on other rows.",
    ),
    (
        "Accumulated local effects (ALE)",
        (
            "ALE", _sub("j"), "(v) = Σ", _sub("k ≤ k(v)"), " mean", _sub("i in bin k"),
            " [ f(z", _sub("k"), ", x", _sub("i, −j"), ") − f(z", _sub("k−1"), ", x", _sub("i, −j"), ") ]",
            " − c",
        ),
        "Changes between neighboring values z of the rows that lie between them, added up; c makes the "
        "average over the data zero.",
    ),
    (
        "Strength",
        (
            "√( 1/W · Σ", _sub("i"), " w", _sub("i"),
            " (PD", _sub("j"), "(x", _sub("ij"), ") − mean)", _sup("2"), " )",
        ),
        "The standard deviation of the partial dependence at every row's own value, in units of the "
        "prediction; over several outputs the root mean square. Where rows are crossed with each other, over "
        "the sampled rows that the record names.",
    ),
    (
        "Movement against a direction",
        ("max", _sub("a ≤ b"), " ( PD(a) − PD(b) )"),
        "For a curve that should rise, and the same of −PD for one that should fall. Its standard error is "
        "that of the differences of the same rows at both values.",
    ),
    (
        "Strength of a pair, and H²",
        (
            "√ mean", _sub("i"), " ( PD", _sub("jk"), " − PD", _sub("j"), " − PD", _sub("k"), " )", _sup("2"),
            ",   H", _sup("2"), " = mean", _sub("i"), " ( PD", _sub("jk"), " − PD", _sub("j"), " − PD",
            _sub("k"), " )", _sup("2"), " / mean", _sub("i"), " PD", _sub("jk"), _sup("2"),
        ),
        "Friedman and Popescu's statistics, of centered curves at the rows of the data.",
    ),
    (
        "Averages near a value",
        None,
        "Averages of predictions, of the target and of their difference over the rows whose value is nearest "
        "to v. Other features differ there, too.",
    ),
)  # fmt: skip

NOT_SHOWN = (
    "Causes. Curves say what the model predicts if a value is changed, not what would happen in the world.",
    "Single rows. The page shows averages, quantiles and counts. The numbers saved in it also have the "
    "predictions, weights and target of up to 2,000 rows, without their columns, for comparisons row by row.",
    "Rows the model was not explained on. Curves may combine values that do not occur together; the verdict "
    "says where that was found.",
    "Interactions of three features and more, beyond what curves average over.",
    "Uncertainty of the fit. Standard errors are of the rows, not of the training.",
    "Fairness, privacy, the quality of the data, or whether the model is fit for a purpose.",
    "Compliance with any rule or standard. Nothing here claims it.",
)


def definitions() -> Markup:
    """Return the definitions of the statistics."""
    items = (
        element(
            "div",
            element("dt", name),
            element("dd", None if formula is None else element("p", *formula, class_="formula"), meaning),
        )
        for name, formula, meaning in DEFINITIONS
    )
    return element("dl", *items, class_="definitions")


def not_shown() -> Markup:
    """Return what a reader must not expect of the page."""
    return joined(
        element("h3", "What this page does not show", id="not-shown"),
        element("ul", *(element("li", line) for line in NOT_SHOWN)),
    )
