"""An `Explanation` as a page: one HTML file without requests, or Markdown."""
