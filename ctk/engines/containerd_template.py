"""Templates from which k3s and RKE2 render containerd's configuration: add or take out our tables; opens no file.

A template is not TOML: it is added to at its end, as text. k3s registers a runtime named nvidia by itself when it
finds its program, so our table gives way to that one; two tables of one name would keep containerd from starting.
"""

from ctk.engines.base import RuntimeSpec

BEGIN = "{{- /* ctk: runtime NAME, begin */ -}}"
END = "{{- /* ctk: runtime NAME, end */ -}}"
PLUGIN_BY_FILE = {
    "config-v3.toml.tmpl": "io.containerd.cri.v1.runtime",
    "config.toml.tmpl": "io.containerd.grpc.v1.cri",
}


def is_template(path: str) -> bool:
    """Whether the path is one that k3s or RKE2 would take as a template."""
    return path.endswith(".tmpl")


def add_runtime(text: str | None, base: str, path: str, spec: RuntimeSpec) -> str:
    """The template with our tables behind it; `base` is what a new template holds. The same text if it has them."""
    plugin = PLUGIN_BY_FILE.get(path.rpartition("/")[2], "io.containerd.grpc.v1.cri")
    block = _block(plugin, spec)
    if text is None:
        return base + block
    without = remove_runtime(text, spec.name)
    if without + block == text or text.endswith(block):
        return text
    return without + ("" if without.endswith("\n") or not without else "\n") + block


def remove_runtime(text: str, name: str) -> str:
    """The template without our tables, the same text if it has none."""
    begin, end = (marker.replace("NAME", name) for marker in (BEGIN, END))
    start = text.find(begin)
    stop = text.find(end, start)
    if start < 0 or stop < 0:
        return text
    stop += len(end)
    if text[stop : stop + 1] == "\n":
        stop += 1
    return text[:start] + text[stop:]


def names_ours(text: str, name: str) -> bool:
    """Whether our own block for that runtime stands in the template."""
    return remove_runtime(text, name) != text


def names_runtime(text: str, name: str) -> bool:
    """Whether the template names that runtime outside our own block."""
    rest = remove_runtime(text, name)
    return any(f"runtimes.{quote}{name}{quote}" in rest for quote in ("", '"', "'"))


def _block(plugin: str, spec: RuntimeSpec) -> str:
    from ctk.edit.toml_render import render_key, render_value

    table = f"plugins.{render_key(plugin)}.containerd.runtimes.{render_key(spec.name)}"
    lines = [
        BEGIN.replace("NAME", spec.name),
        '{{- $own := true }}{{ range $name, $runtime := .ExtraRuntimes }}{{ if eq $name "'
        + spec.name
        + '" }}{{ $own = false }}{{ end }}{{ end }}',
        "{{ if $own }}",
        f"[{table}]",
        '  runtime_type = "io.containerd.runc.v2"',
        f"[{table}.options]",
        f"  BinaryName = {render_value(spec.path)}",
        "  SystemdCgroup = {{ .SystemdCgroup }}",
        "{{ end }}",
        END.replace("NAME", spec.name),
    ]
    return "\n".join(lines) + "\n"
