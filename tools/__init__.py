"""What the repository needs beside the program."""
