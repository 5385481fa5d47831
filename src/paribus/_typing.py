"""Types of the words that arguments and fields accept, shared by signatures and checks."""

from __future__ import annotations

from typing import Literal, TypeAlias

AUTO = "auto"  # default of options whose value depends on the model and the data
# Arguments of the functions.
ResponseMethod: TypeAlias = Literal[
    "auto",
    "predict",
    "predict_proba",
    "decision_function",
    "predict_survival_function",
    "predict_cumulative_hazard_function",
]  # method that predicts
EffectMethod: TypeAlias = Literal["auto", "exact", "brute", "recursion"]  # how partial dependence is computed
Method: TypeAlias = Literal["auto", "exact", "brute"]  # how ALE and interactions are computed
ImportanceKind: TypeAlias = Literal["effect", "permutation", "model"]  # what importance means
LossName: TypeAlias = Literal[
    "squared_error", "absolute_error", "poisson", "gamma", "log_loss", "error_rate"
]  # loss= of importance by permutation
Curves: TypeAlias = Literal["average", "individual", "both"]  # kind=: curves of all rows, of each, or both
GridResolution: TypeAlias = int | Literal["splits"]  # points of an axis, or both sides of each split
OnError: TypeAlias = Literal["raise", "skip"]  # action for files that cannot be read

# Arguments of results.
FrameBackend: TypeAlias = Literal["pandas", "polars", "pyarrow"]  # library of the table from to_frame()
TableKind: TypeAlias = Literal["average", "individual"]  # kind= of to_frame(): curves in the table
Statistic: TypeAlias = Literal["pairwise", "overall", "threeway", "total"]  # kind of H-statistic
PlotBackend: TypeAlias = Literal["matplotlib", "plotly"]  # library that plots
OutputLayout: TypeAlias = Literal["color", "rows"]  # outputs=: colors in one panel, or one panel each
InteractionPlot: TypeAlias = Literal["bars", "heatmap"]  # kind= of interactions

# Fields of results.
Severity: TypeAlias = Literal["issue", "tip"]  # of a note: a possible error, or an explanation
Better: TypeAlias = Literal["lower", "higher", "near 1", "near 0"]  # best values of a metric
StrengthBasis: TypeAlias = Literal["rows", "points"]  # values over which a strength is computed
ErrorBasis: TypeAlias = Literal["upper bound", "row by row", "independent"]  # errors of a difference
Presence: TypeAlias = Literal["both", "old", "new"]  # explanations that have a feature
DriftKind: TypeAlias = Literal["level", "rows", "effect", "interaction"]  # part of a model that changed
BandRole: TypeAlias = Literal["standard_error", "refits", "rows"]  # meaning of a band in a plot
