"""Reads whole files that ctk owns: the copy packaged in a wheel, else the checkout's templates/; writes nothing."""

import os

from ctk.errors import ReadFault

_HERE = os.path.dirname(os.path.abspath(__file__))
_FOLDERS = (os.path.join(_HERE, "_templates"), os.path.join(os.path.dirname(_HERE), "templates"))


def read_template(name: str) -> str:
    """The text of one template, such as "k3s/base.toml.tmpl". Raises ReadFault when this installation lacks it."""
    for folder in _FOLDERS:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", newline="") as file:
                return file.read()
    raise ReadFault(
        f"cannot read the template {name}: it is not part of this installation of ctk",
        hint="Install gpu-ctk again. Nothing was changed.",
        path=os.path.join(_FOLDERS[0], name),
    )
