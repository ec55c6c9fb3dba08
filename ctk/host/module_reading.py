"""Reads a kernel module's file, packed or not, and keeps no more of it than is asked for; it judges nothing."""

from collections.abc import Callable

from ctk.formats.kernel_module import ModuleInfo, parse_module_file
from ctk.host import Host

PART_BYTES = 256 * 1024
HEAD_BYTES = 4096
AROUND_BYTES = 128 * 1024
WINDOW_BYTES = 2 * 1024 * 1024
UNPACKED_LIMIT_BYTES = 512 * 1024 * 1024
MARK = b"vermagic="
"""Every module has it, and only in its .modinfo section."""


def read_module_info(host: Host, path: str, compression: str | None) -> ModuleInfo:
    """compression: xz, gz, zst or None. ValueError: its content is not understood; OSError as the system does."""
    size = host.stat(path).st_size
    if compression is None:
        return parse_module_file(lambda offset, count: host.read_part(path, offset, count), size)
    unpacked = unpack(lambda offset: host.read_part(path, offset, PART_BYTES), find_decompressor(compression))
    return parse_module_file(unpacked.read, unpacked.size_bytes)


class Unpacked:
    """The parts of an unpacked module that are wanted: head, tail, and the section with the mark.

    The driver's main module takes some 60 MB unpacked; this keeps three.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self._window = bytearray()
        self._head = b""
        self._mark = -1
        self._around = b""

    def add(self, part: bytes) -> None:
        """The next bytes of the file."""
        searched = max(0, len(self._window) - len(MARK))
        self._window += part
        self.size_bytes += len(part)
        if self._mark < 0 and (position := self._window.find(MARK, searched)) >= 0:
            self._mark = self._window_start + position
        if len(self._head) < HEAD_BYTES:
            self._head += part[: HEAD_BYTES - len(self._head)]
        if self._mark >= 0 and not self._around and self.size_bytes >= self._mark + AROUND_BYTES:
            self._keep_around()
        if len(self._window) > WINDOW_BYTES:
            del self._window[:-WINDOW_BYTES]

    @property
    def _window_start(self) -> int:
        return self.size_bytes - len(self._window)

    @property
    def _around_start(self) -> int:
        return max(0, self._mark - AROUND_BYTES)

    def _keep_around(self) -> None:
        """Nothing is lost when the window has moved on: then the section starts too far from the mark to be sane."""
        start = max(self._around_start - self._window_start, 0)
        self._around = bytes(self._window[start : self._mark - self._window_start + AROUND_BYTES])

    def read(self, offset: int, count: int) -> bytes:
        """ValueError: that part was not kept."""
        for start, part in ((0, self._head), (self._around_start, self._around), (self._window_start, self._window)):
            if start <= offset and offset + count <= start + len(part):
                return bytes(part[offset - start : offset - start + count])
        raise ValueError("it is cut short, or laid out in a way that ctk does not follow")


def unpack(read: Callable[[int], bytes], decompress: Callable[[bytes], bytes]) -> Unpacked:
    """read: packed bytes from an offset on, empty at the end. ValueError: they are damaged, or unpack to too much."""
    unpacked = Unpacked()
    offset = 0
    while packed := read(offset):
        offset += len(packed)
        for part in _pieces(decompress(packed)):
            unpacked.add(part)
        if unpacked.size_bytes > UNPACKED_LIMIT_BYTES:
            raise ValueError(f"it unpacks to more than {UNPACKED_LIMIT_BYTES} bytes")
    return unpacked


def _pieces(content: bytes) -> list[bytes]:
    """Pieces that the window can hold two of."""
    return [content[start : start + WINDOW_BYTES // 2] for start in range(0, len(content), WINDOW_BYTES // 2)]


def find_decompressor(compression: str) -> Callable[[bytes], bytes]:
    """From part to part. ValueError: this Python cannot unpack it."""
    if compression == "xz":
        return _lzma()
    if compression == "gz":
        return _gzip()
    return _zstd()


def _lzma() -> Callable[[bytes], bytes]:
    import lzma

    decompressor = lzma.LZMADecompressor()

    def decompress(packed: bytes) -> bytes:
        try:
            return b"" if decompressor.eof else decompressor.decompress(packed)
        except lzma.LZMAError as error:
            raise ValueError(f"not unpacked: {error}") from error

    return decompress


def _gzip() -> Callable[[bytes], bytes]:
    import zlib

    decompressor = zlib.decompressobj(wbits=31)

    def decompress(packed: bytes) -> bytes:
        try:
            return b"" if decompressor.eof else decompressor.decompress(packed)
        except zlib.error as error:
            raise ValueError(f"not unpacked: {error}") from error

    return decompress


def _zstd() -> Callable[[bytes], bytes]:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore] # Python 3.14 has it, 3.11 does not
    except ImportError:
        raise ValueError("packed with zstd, which this Python cannot read") from None
    decompressor = zstd.ZstdDecompressor()

    def decompress(packed: bytes) -> bytes:
        try:
            return b"" if decompressor.eof else bytes(decompressor.decompress(packed))
        except zstd.ZstdError as error:
            raise ValueError(f"not unpacked: {error}") from error

    return decompress
