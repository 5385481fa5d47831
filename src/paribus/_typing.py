"""Every word that an argument or a field may have, in one place: signatures and checks use the same types."""

from __future__ import annotations

from typing import Literal, TypeAlias

AUTO = "auto"  # the default of options that are chosen by the model and the data
# Arguments of the functions.
ResponseMethod: TypeAlias = Literal["auto", "predict", "predict_proba", "decision_function"]  # what predicts
EffectMethod: TypeAlias = Literal["auto", "exact", "brute", "recursion"]  # how partial dependence is computed
Method: TypeAlias = Literal["auto", "exact", "brute"]  # how ALE and interactions are computed
ImportanceMethod: TypeAlias = Literal["effect", "permutation", "model"]  # what importance means
Curves: TypeAlias = Literal["average", "individual", "both"]  # kind=: curves of all rows, of each, or both
GridResolution: TypeAlias = int | Literal["splits"]  # points of an axis, or both sides of each split
OnError: TypeAlias = Literal["raise", "skip"]  # what happens with files that cannot be read

# Arguments of results.
FrameBackend: TypeAlias = Literal["pandas", "polars", "pyarrow"]  # whose table to_frame() returns
TableKind: TypeAlias = Literal["average", "individual"]  # kind= of to_frame(): which curves a table has
Statistic: TypeAlias = Literal["pairwise", "overall", "threeway", "total"]  # which H-statistic
PlotBackend: TypeAlias = Literal["matplotlib", "plotly"]  # what draws
OutputLayout: TypeAlias = Literal["color", "rows"]  # outputs=: colors of one panel, or panels of their own
InteractionPlot: TypeAlias = Literal["bars", "heatmap", "network", "panels"]  # kind= of interactions
DriftUnit: TypeAlias = Literal["spread", "prediction"]  # unit= of a bound on changes
DriftMeasure: TypeAlias = Literal["typical", "largest"]  # measure= of a change: over the data, or at a point

# Fields of results.
Severity: TypeAlias = Literal["issue", "tip"]  # of a note: it may make a reading wrong, or explains
Better: TypeAlias = Literal["lower", "higher", "near 1", "near 0"]  # which values of a metric are good
ErrorBasis: TypeAlias = Literal["upper bound", "row by row", "independent"]  # errors of a difference
Presence: TypeAlias = Literal["both", "old", "new"]  # which of two explanations has a feature
DriftKind: TypeAlias = Literal["level", "rows", "effect", "interaction"]  # what of a model has moved
BandRole: TypeAlias = Literal["standard_error", "models", "rows"]  # what a band in a picture is of
