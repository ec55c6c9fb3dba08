"""Single values at the top of a YAML mapping, without a YAML library; it understands nothing deeper."""


def parse_yaml_scalar(text: str, key: str) -> str | None:
    """The plain or quoted value of a key in the first column; None when it is absent, empty or no plain value.

    Later documents and indented keys are not looked at: the kubelet's and k3s' files are one flat mapping at the top.
    """
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and _unquote(name.rstrip()) == key and (not value or value[0] in " \t"):
            return _scalar(value.strip())
    return None


def _scalar(value: str) -> str | None:
    if value.startswith(("'", '"')):
        end = value.find(value[0], 1)
        return value[1:end] if end > 0 else None
    plain = value.partition(" #")[0].strip()
    if plain.startswith(("#", "{", "[", "|", ">", "&", "*", "!")) or plain in ("", "null", "~"):
        return None
    return plain


def _unquote(name: str) -> str:
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"" else name
