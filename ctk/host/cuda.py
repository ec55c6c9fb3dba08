"""Starts CUDA once and counts its devices, in a child process of its own; it computes nothing and judges nothing."""

import json
import os

LIBRARY_NOT_FOUND = -1


def main(path: str, descriptor: int = 1) -> None:
    """Loads the library at path, never another one, and tells codes and counts, each as one line of JSON."""
    import ctypes

    def tell(**line: object) -> None:
        os.write(descriptor, json.dumps(line).encode() + b"\n")

    tell(ask="cuInit")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        tell(fact="cuInit", code=LIBRARY_NOT_FOUND, text=str(error))
        return
    code = int(library.cuInit(0))
    tell(fact="cuInit", code=code, text=_name(library, code))
    if code:
        return
    tell(ask="cuDeviceGetCount")
    count = ctypes.c_int()
    code = int(library.cuDeviceGetCount(ctypes.byref(count)))
    tell(fact="cuDeviceGetCount", code=code, text=_name(library, code), count=count.value)


def _name(library: object, code: int) -> str:
    """The library's own name for a code: CUDA_ERROR_SYSTEM_NOT_READY."""
    import ctypes

    text = ctypes.c_char_p()
    function = getattr(library, "cuGetErrorName", None)
    if function is None or function(code, ctypes.byref(text)) or not text.value:
        return ""
    return text.value.decode("ascii", "replace")
