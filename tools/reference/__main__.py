"""Write the pages: `python -m tools.reference`, or `make docs`."""

from pathlib import Path

from tools.reference.pages import FOLDER, pages


def main() -> None:
    """Write every page."""
    folder = Path(FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
