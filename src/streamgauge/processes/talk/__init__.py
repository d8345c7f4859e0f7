"""How a child process and its parent talk: line by line, in words of their own."""
