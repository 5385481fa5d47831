"""The order of the examples: that of a reader who knows nothing of the subject."""

import os.path

EXAMPLES = ["height_and_weight"]


def reading_order(filename):
    """Return the place of an example in the gallery; one that is not listed comes last, by its name."""
    name = os.path.basename(filename).removeprefix("plot_").removesuffix(".py")
    return (EXAMPLES.index(name) if name in EXAMPLES else len(EXAMPLES), name)
