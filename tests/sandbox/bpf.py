"""A machine for classic BPF, as the kernel runs it over `struct seccomp_data`."""

from __future__ import annotations

import struct

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
LENGTH_LIMIT = 4096  # instructions, BPF_MAXINSNS


def run(program: bytes, arch: int, number: int, arguments: tuple[int, ...] = ()) -> int:
    """What the filter returns; ValueError for a program the kernel would not take."""
    words = [a & 0xFFFFFFFFFFFFFFFF for a in (*arguments, *([0] * 6))][:6]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *words)
    code = list(struct.iter_unpack("<HBBI", program))
    if not 0 < len(code) <= LENGTH_LIMIT:
        raise ValueError("length")
    place = accumulator = 0
    while place < len(code):
        what, yes, no, value = code[place]
        place += 1
        match what:
            case 0x20:
                if value % 4 or value + 4 > len(data):
                    raise ValueError("load")
                (accumulator,) = struct.unpack_from("<I", data, value)
            case 0x15:
                place += yes if accumulator == value else no
            case 0x35:
                place += yes if accumulator >= value else no
            case 0x45:
                place += yes if accumulator & value else no
            case 0x54:
                accumulator &= value
            case 0x06:
                return int(value)
            case _:
                raise ValueError("instruction")
    raise ValueError("ran off the end")
