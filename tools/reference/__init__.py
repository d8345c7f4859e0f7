"""The pages of docs/reference, printed from the code: each module turns one part of the code into one page's text."""
