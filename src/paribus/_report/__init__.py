"""Reports of an `Explanation`: one self-contained HTML file, or Markdown."""
