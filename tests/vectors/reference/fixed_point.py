"""Exact integer arithmetic of the fixed-point recurrent operations, in Python integers."""
import math


def saturate(x, bits):
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, x))


def sat16(x):
    return saturate(x, 16)


def sat8(x):
    return saturate(x, 8)


def hm16(a, b):
    return 32767 if a == b == -32768 else (a * b + (1 << 14)) >> 15


def hm32(a, b):
    return 2**31 - 1 if a == b == -2**31 else (a * b + (1 << 30)) >> 31


def rsh(x, e):
    """x / 2^e to nearest, ties away from zero."""
    if e <= 0:
        return x
    half = 1 << (e - 1)
    return (x + half) >> e if x >= 0 else -((-x + half) >> e)


def tdiv(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def fix(m):
    fraction, e = math.frexp(float(m))
    q = int(math.floor(fraction * 2**31 + 0.5))
    if q == 2**31:
        q, e = 2**30, e + 1
    return (0, 0) if e < -31 else (q, e)


def mbq(x, multiplier):
    q, e = multiplier
    return rsh(hm32(saturate(x << max(e, 0), 32), q), max(-e, 0))


def up(x, n):
    return sat16(x << n)


def exp_on_quarter(a):
    """Of -1/4 <= a < 0 in Q0.15, scaled by 4: E of the toolbox."""
    x = a + 4096
    x2 = hm16(x, x)
    x3, x4 = hm16(x2, x), hm16(x2, x2)
    t = rsh(hm16(rsh(x4, 2) + x3, 10923) + x2, 1)
    return sat16(28918 + hm16(28918, x + t))


def exp16(a, whole):
    if a == 0:
        return 32767
    quarter = 1 << (13 - whole)
    m = (a & (quarter - 1)) - quarter
    r, d = exp_on_quarter(up(m, whole)), m - a
    for power, factor in ((-2, 25520), (-1, 19875), (0, 12055), (1, 4435), (2, 600), (3, 11),
                          (4, 0)):
        if whole > power and d >> (15 - whole + power) & 1:
            r = hm16(r, factor)
    if whole > 5 and a < -(1 << (20 - whole)):
        return 0
    return r


def recip(a):
    """1 / (1 + a) for a in [0, 1], Q0.15 to Q2.13."""
    h = tdiv(a + 32767 + 1, 2)
    x = 23130 + hm16(h, -15420)
    for _ in range(3):
        x = x + up(hm16(x, 8192 - hm16(h, x)), 2)
    return x


def sigmoid16(a, whole):
    if a == 0:
        return 16384
    p = up(recip(exp16(max(-abs(a), -32768), whole)), 1)
    return p if a > 0 else 32767 - p


def tanh16(a, whole):
    if a == 0:
        return 0
    t = up(recip(exp16(max(-abs(a), -32768), whole + 1)) - 8192, 2)
    return t if a > 0 else -t


def invsqrt(v):
    if v <= 1:
        return 2**31 - 1, 0
    shift = 11
    while v >= 1 << 29:
        v, shift = v // 4, shift + 1
    k = (32 - v.bit_length() - 1) // 2 - 1
    shift, v = shift - k, v << (2 * k)
    b, x = rsh(v >> 1, 1), 1 << 28
    for _ in range(5):
        y = saturate(hm32(hm32(x, x), x) << 6, 32)
        x = saturate((hm32(3 << 27, x) - hm32(b, y)) << 3, 32)
    q = hm32(x, 1518500250)
    if shift < 0:
        q, shift = q << -shift, 0
    return q, -shift
