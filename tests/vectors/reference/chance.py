"""Hashing and drawing at random."""
import struct

import numpy as np

from .operand import require

MASK = 2**64 - 1
K0, K1, K2 = 0xc3a5c85c97cb3127, 0xb492b66fbe98f273, 0x9ae16a3b2f90404f


def rot(v, n):
    v &= MASK
    return (v >> n | v << (64 - n)) & MASK


def sm(v):
    return v ^ v >> 47


def h16(u, v, m):
    a = ((u ^ v) & MASK) * m & MASK
    a ^= a >> 47
    b = ((v ^ a) & MASK) * m & MASK
    b ^= b >> 47
    return b * m & MASK


def fingerprint64(s):
    """FarmHash's published Fingerprint64 of at least 4 bytes."""
    def r64(p):
        return struct.unpack_from("<Q", s, p)[0]

    def r32(p):
        return struct.unpack_from("<I", s, p)[0]

    n = len(s)
    m = (K2 + 2 * n) & MASK
    if 4 <= n < 8:
        return h16(n + (r32(0) << 3), r32(n - 4), m)
    if n <= 16:
        a, b = (r64(0) + K2) & MASK, r64(n - 8)
        c = (rot(b, 37) * m + a) & MASK
        return h16(c, (rot(a, 25) + b) * m & MASK, m)
    if n <= 32:
        a, b = r64(0) * K1 & MASK, r64(8)
        c, d = r64(n - 8) * m & MASK, r64(n - 16) * K2 & MASK
        return h16((rot(a + b, 43) + rot(c, 30) + d) & MASK, (a + rot(b + K2, 18) + c) & MASK, m)
    if n <= 64:
        a, b = r64(0) * K2 & MASK, r64(8)
        c, d = r64(n - 8) * m & MASK, r64(n - 16) * K2 & MASK
        y = (rot(a + b, 43) + rot(c, 30) + d) & MASK
        z = h16(y, (a + rot(b + K2, 18) + c) & MASK, m)
        e, f = r64(16) * m & MASK, r64(24)
        g, h = (y + r64(n - 32)) * m & MASK, (z + r64(n - 24)) * m & MASK
        return h16((rot(e + f, 43) + rot(g, 30) + h) & MASK, (e + rot(f + a, 18) + g) & MASK, m)
    return fingerprint_long(n, r64)


def fingerprint_long(n, r64):
    def weak(p, a, b):
        w, x, y, z = (r64(p + 8 * i) for i in range(4))
        a = (a + w) & MASK
        b, c = rot(b + a + z, 21), a
        a = (a + x + y) & MASK
        return (a + z) & MASK, (b + rot(a, 44) + c) & MASK

    x, y = 81, (81 * K1 + 113) & MASK
    z = sm((y * K2 + 113) & MASK) * K2 & MASK
    v, w = (0, 0), (0, 0)
    x = (x * K2 + r64(0)) & MASK
    for p in range(0, 64 * ((n - 1) // 64), 64):
        x = rot(x + y + v[0] + r64(p + 8), 37) * K1 & MASK
        y = rot(y + v[1] + r64(p + 48), 42) * K1 & MASK
        x ^= w[1]
        y = (y + v[0] + r64(p + 40)) & MASK
        z = rot(z + w[0], 33) * K1 & MASK
        v, w = weak(p, v[1] * K1 & MASK, (x + w[0]) & MASK), weak(p + 32, (z + w[1]) & MASK,
                                                                  (y + r64(p + 16)) & MASK)
        z, x = x, z
    m, p = (K1 + ((z & 0xff) << 1)) & MASK, n - 64
    w = ((w[0] + ((n - 1) & 63)) & MASK, w[1])
    v = ((v[0] + w[0]) & MASK, v[1])
    w = ((w[0] + v[0]) & MASK, w[1])
    x = rot(x + y + v[0] + r64(p + 8), 37) * m & MASK
    y = rot(y + v[1] + r64(p + 48), 42) * m & MASK
    x ^= w[1] * 9 & MASK
    y = (y + v[0] * 9 + r64(p + 40)) & MASK
    z = rot(z + w[0], 33) * m & MASK
    v, w = weak(p, v[1] * m & MASK, (x + w[0]) & MASK), weak(p + 32, (z + w[1]) & MASK,
                                                             (y + r64(p + 16)) & MASK)
    z, x = x, z
    return h16((h16(v[0], w[0], m) + sm(y) * K0 + z) & MASK, (h16(v[1], w[1], m) + x) & MASK, m)


def lsh_projection(ins, outs):
    hashes, kind = ins[0].value.astype("<f4"), ins[3].scalar()
    require(kind in (1, 2, 3), "projection type {}", kind)
    require((kind == 2) == (ins[2] is not None), "weight and projection type {}", kind)
    count, bits = hashes.shape
    require(bits <= 32, "{} bits", bits)
    rows = [np.ascontiguousarray(row).tobytes() for row in ins[1].value]
    weights = [1.0] * len(rows) if ins[2] is None else ins[2].real().tolist()
    require(len(weights) == len(rows), "{} weights of {} rows", len(weights), len(rows))
    bit = np.zeros((count, bits), np.int64)
    for i, j in np.ndindex(count, bits):
        total = 0.0
        for weight, row in zip(weights, rows):
            h = fingerprint64(hashes[i, j].tobytes() + row)
            total += weight * float(h - 2**64 if h >= 2**63 else h)
        bit[i, j] = total > 0
    if kind == 2:
        return [bit.reshape(-1).astype(np.int32)]
    signature = bit @ (1 << np.arange(bits)[::-1])
    if kind == 3:
        signature = signature + np.arange(count) * 2**bits
    return [signature.astype(np.uint32).astype(np.int32)]


def random_multinomial(ins, outs):
    """The evenest draw there is: what counts are the frequencies, which the input alone decides."""
    x, samples = ins[0].real(), ins[1].scalar()
    require(x.ndim == 2 and samples > 0 and ins[2].shape == (2,), "arguments")
    draws = np.empty((x.shape[0], samples), np.int32)
    for row, logits in enumerate(x):
        finite = np.isfinite(logits)
        p = np.where(finite, np.exp(np.where(finite, logits, 0) - logits[finite].max()), 0)
        places = (np.arange(samples) + 0.5) / samples
        draws[row] = np.searchsorted(np.cumsum(p / p.sum()), places)
    return [draws]


OPERATIONS = {"LSH_PROJECTION": lsh_projection, "RANDOM_MULTINOMIAL": random_multinomial}
