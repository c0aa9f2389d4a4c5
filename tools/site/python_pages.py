"""Writes the pages of the Python package. mkdocstrings fills them from the sources.

The names are those of __all__ in python/halyard/__init__.py. The module is read, not imported.
"""
from __future__ import annotations

import ast
import pathlib

INTRODUCTION = {
    "python_functions.md": ("Functions", "The functions of the package, and the modules beside it. "
                                         "[The guide](../python.md) has a program that uses them."),
    "python_classes.md": ("Classes", "The classes of the package. Programs get most objects from functions and "
                                     "methods, and make few of them."),
    "python_errors.md": ("Errors", "A failed call raises `halyard.Error`, or its class for the status."),
}
MODULES = ("litert", "ray")


def public_names(root: pathlib.Path) -> list[str]:
    path = root / "python/halyard/__init__.py"
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) \
                and node.targets[0].id == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise ValueError(f"{path}: there is no __all__, which lists the names of the package")


def page_for(name: str) -> str:
    if name.islower():
        return "python_functions.md"
    return "python_errors.md" if name.endswith(("Error", "Status")) else "python_classes.md"


def write_python_pages(root: pathlib.Path, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = public_names(root)
    for page, (title, introduction) in INTRODUCTION.items():
        parts = [f"# Python: {title.lower()}", introduction]
        parts += [f"::: halyard.{name}" for name in names if page_for(name) == page and name not in MODULES]
        if page == "python_functions.md":
            parts += [f"::: halyard.{module}" for module in MODULES
                      if (root / f"python/halyard/{module}.py").is_file()]
        (folder / page).write_text("\n\n".join(parts) + "\n")
