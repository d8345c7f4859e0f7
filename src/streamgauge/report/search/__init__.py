"""A search as a page and as Markdown: its answer, its runs, and how its figures change with what is searched."""
