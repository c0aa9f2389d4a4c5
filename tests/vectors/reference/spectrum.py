"""The transform of images, and real numbers of complex ones, which are two floats side by side."""
import numpy as np

from .operand import require


def rfft2d(ins, outs):
    x, lengths = ins[0].real(), ins[1].ints()
    require(x.ndim >= 2, "rank {}", x.ndim)
    require(ins[1].rank == 1 and len(lengths) == 2, "fft_length {}", lengths)
    require(all(n > 0 and n & (n - 1) == 0 for n in lengths), "fft_length {}", lengths)
    y = np.fft.rfft2(x, s=lengths, axes=(-2, -1))
    return [outs[0].store(np.stack([y.real, y.imag], -1).reshape(*y.shape[:-1], -1))]


def part(function):
    def run(ins, outs):
        x = ins[0].real()
        require(x.ndim >= 1 and x.shape[-1] % 2 == 0, "complex numbers of shape {}", x.shape)
        return [outs[0].store(function(x[..., 0::2], x[..., 1::2]))]
    return run


OPERATIONS = {"RFFT2D": rfft2d, "COMPLEX_ABS": part(np.hypot), "REAL": part(lambda re, im: re),
              "IMAG": part(lambda re, im: im)}
