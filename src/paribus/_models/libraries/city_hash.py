"""CityHash64, by which CatBoost knows categories."""

from __future__ import annotations

# CityHash64 in its first version, by Geoff Pike and Jyrki Alakuijala.
MASK = 2**64 - 1
K0, K1, K2, K3 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F, 0xC949D7C7509E6557


def city_hash(text: bytes) -> int:
    """Return the hash of some bytes as 64 bits without a sign."""
    size = len(text)
    if size <= 16:
        return _up_to_16(text)
    if size > 64:
        return _over_64(text)
    if size > 32:
        return _up_to_64(text)
    a, b = _word(text, 0) * K1, _word(text, 8)
    c, d = _word(text, size - 8) * K2, _word(text, size - 16) * K0
    return _mixed(_turned(a - b, 43) + _turned(c, 30) + d, a + _turned(b ^ K3, 20) - c + size)


def _word(text: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(text[start : start + size], "little")


def _turned(bits: int, by: int) -> int:
    bits &= MASK
    return (bits >> by | bits << (64 - by)) & MASK


def _folded(bits: int) -> int:
    bits &= MASK
    return bits ^ bits >> 47


def _mixed(low: int, high: int) -> int:
    factor = 0x9DDFEA08EB382D69
    low, high = low & MASK, high & MASK
    return _folded((high ^ _folded((low ^ high) * factor)) * factor) * factor & MASK


def _up_to_16(text: bytes) -> int:
    size = len(text)
    if size > 8:
        last = _word(text, size - 8)
        return _mixed(_word(text, 0), _turned(last + size, size)) ^ last
    if size >= 4:
        return _mixed(size + (_word(text, 0, 4) << 3), _word(text, size - 4, 4))
    if not size:
        return K2
    start, end = text[0] + (text[size // 2] << 8), size + (text[-1] << 2)
    return _folded(start * K2 ^ end * K3) * K2 & MASK


def _up_to_64(text: bytes) -> int:
    size = len(text)

    def half(start: int, sum_: int, last: int) -> tuple[int, int]:
        turned = _turned(sum_ + last, 52) + _turned(sum_, 37)
        sum_ += _word(text, start + 8)
        turned += _turned(sum_, 7)
        sum_ += _word(text, start + 16)
        return sum_ + last, turned + _turned(sum_, 31)

    begin = _word(text, 0) + (size + _word(text, size - 16)) * K0
    v = half(0, begin, _word(text, 24))
    w = half(size - 32, _word(text, 16) + _word(text, size - 32), _word(text, size - 8))
    folded = _folded((v[0] + w[1]) * K2 + (w[0] + v[1]) * K0)
    return _folded(folded * K0 + v[1]) * K2 & MASK


def _over_64(text: bytes) -> int:
    size = len(text)

    def block(start: int, a: int, b: int) -> tuple[int, int]:
        words = [_word(text, start + offset) for offset in (0, 8, 16, 24)]
        a += words[0]
        b = _turned(b + a + words[3], 21)
        total = a + words[1] + words[2]
        return (total + words[3]) & MASK, (b + _turned(total, 44) + a) & MASK

    x, y, z = _word(text, 0), _word(text, size - 16) ^ K1, _word(text, size - 56) ^ K0
    v, w = block(size - 64, size, y), block(size - 32, size * K1, K0)
    z += _folded(v[1]) * K1
    x, y = _turned(z + x, 39) * K1, _turned(y, 33) * K1
    for start in range(0, (size - 1) // 64 * 64, 64):
        x = _turned(x + y + v[0] + _word(text, start + 16), 37) * K1 ^ w[1]
        y = _turned(y + v[1] + _word(text, start + 48), 42) * K1 ^ v[0]
        z = _turned(z ^ w[0], 33)
        v = block(start, v[1] * K1, x + w[0])
        w = block(start + 32, z + w[1], y)
        x, z = z, x
    return _mixed(_mixed(v[0], w[0]) + _folded(y) * K1 + z, _mixed(v[1], w[1]) + x)
