"""The result as a page, as Markdown, and on a terminal."""
