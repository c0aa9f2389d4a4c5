"""The two LSTM cells in fixed point, whose intermediate rounding is part of their meaning."""
import math

import numpy as np

from .fixed_point import (fix, hm16, invsqrt, mbq, rsh, sat8, sat16, sigmoid16, tanh16, tdiv, up)
from .operand import parameters, require
from .recurrent import all_or_none


def rows(operand):
    return None if operand is None else operand.value.astype(int).tolist()


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def quantized_16bit_lstm(ins, outs):
    x, h_old, c_old = rows(ins[0]), rows(ins[14]), rows(ins[13])
    activations, states = (1 / 128, 128), (2.0**-11, 0)
    scale, zero = parameters(ins[1])
    for operand, wanted in [(ins[0], activations), (ins[14], activations), (ins[13], states),
                            (outs[0], states), (outs[1], activations)]:
        require(parameters(operand) == wanted, "parameters {}", parameters(operand))
    bias_scale = np.float32(scale) / np.float32(128)
    for operand in ins[1:9]:
        require(parameters(operand) == (scale, zero), "weights differ in scale or zero point")
    for operand in ins[9:13]:
        require(np.float32(operand.scale) == bias_scale, "bias scale {}", operand.scale)
    outputs, inputs = ins[1].shape
    require(all(w.shape == (outputs, inputs) for w in ins[1:5])
            and all(w.shape == (outputs, outputs) for w in ins[5:9])
            and all(b.shape == (outputs,) for b in ins[9:13])
            and ins[0].shape == (len(x), inputs) and ins[13].shape == (len(x), outputs)
            and ins[14].shape == (len(x), outputs), "shapes")
    multiplier = fix(np.float32(bias_scale) * np.float32(4096))
    weights = []
    for k in range(4):
        wx, wh = ins[1 + k].corrected().tolist(), ins[5 + k].corrected().tolist()
        # The recurrent weights come first, the activations input first.
        weights.append([r + i for r, i in zip(wh, wx)])
    biases = [rows(b) for b in ins[9:13]]
    c_new, h_new = [], []
    for b in range(len(x)):
        v = [q - 128 for q in x[b] + h_old[b]]
        gates = [[sat16(mbq(bias + dot(v, row), multiplier)) for bias, row in zip(*pair)]
                 for pair in zip(biases, weights)]
        c_row, h_row = [], []
        for j in range(outputs):
            i, f, o = (sigmoid16(gates[k][j], 3) for k in (0, 1, 3))
            p = hm16(i, tanh16(gates[2][j], 3))
            c = sat16(rsh(p, 4) + hm16(f, c_old[b][j]))
            h = hm16(o, tanh16(up(c, 1), 3))
            c_row.append(c)
            h_row.append(128 + sat8(rsh(h, 8)))
        c_new.append(c_row)
        h_new.append(h_row)
    return [np.array(c_new, np.int16), np.array(h_new, np.uint8)]


def product_scale(*factors):
    """Products and a last quotient in float32, as the description demands."""
    result = np.float32(1)
    for f in factors:
        result = np.float32(result * np.float32(f))
    return result


class QuantizedCell:
    def __init__(self, ins):
        self.x, self.h, self.c = ins[0], ins[18], ins[19]
        self.wx, self.wh = ins[1:5], ins[5:9]
        self.peephole = [ins[9], ins[10], None, ins[11]]
        self.bias, self.projection, self.projection_bias = ins[12:16], ins[16], ins[17]
        self.norm = ins[20:24]
        self.cell_clip, self.projection_clip = (0.0 if i is None else i.scalar()
                                                for i in ins[24:26])
        self.units = [i.scalar() for i in ins[26:30]]
        self.hidden_zero, self.hidden_scale = ins[30].scalar(), ins[31].scalar()
        self.cifg = not all_or_none([ins[1], ins[5], ins[12]], "input gate")
        first = 1 if self.cifg else 0
        if self.cifg:
            require(ins[9] is None and ins[20] is None, "parts of an absent input gate")
        all_or_none([ins[9], ins[10], ins[11]][first:], "peephole")
        all_or_none(self.norm[first:], "layer norm")
        require(self.projection_bias is None or self.projection is not None,
                "bias without projection")
        exponent = math.log2(self.c.scale)
        self.n = round(exponent)
        require(abs(exponent - self.n) < 1e-3 and -15 <= self.n <= -9, "cell scale {}",
                self.c.scale)

    def linear(self, k, b, state):
        """The int16 pre-activation of gate k before its normalisation, a list over the cells."""
        unit = np.float32(self.units[k])
        x, h = self.x.corrected()[b].tolist(), self.h.corrected()[b].tolist()
        wx, wh = self.wx[k], self.wh[k]
        mx = fix(product_scale(wx.scale, self.x.scale) / unit)
        mh = fix(product_scale(wh.scale, self.h.scale) / unit)
        a = [sat16(mbq(dot(x, row), mx)) for row in rows(wx)]
        a = [sat16(v + mbq(dot(h, row), mh)) for v, row in zip(a, rows(wh))]
        if self.peephole[k] is not None:
            mp = fix(product_scale(2.0**self.n, self.peephole[k].scale) / unit)
            a = [sat16(v + mbq(w * c, mp)) for v, w, c in zip(a, rows(self.peephole[k]), state)]
        return a

    def normalised(self, k, a):
        if self.norm[k] is None:
            return a
        scale, count = self.norm[k].scale, len(a)
        mean = tdiv(sum(a) * 1024, count)
        variance = tdiv(sum(v * v for v in a) * (2**20 // count) - mean * mean, 2**20)
        root = invsqrt(max(variance, 1))
        q, e = fix(scale)
        out = []
        for v, weight, bias in zip(a, rows(self.norm[k]), rows(self.bias[k])):
            w = mbq(1024 * v - mean, root) * weight + bias
            u = tdiv(w + (512 if w > 0 else -512), 1024)
            out.append(sat16(mbq(u, (q, e + 12))))
        return out

    def gate(self, k, b, state):
        return self.normalised(k, self.linear(k, b, state))

    def row(self, b, out_scale):
        c_old = rows(self.c)[b]
        f = [sigmoid16(a, 3) for a in self.gate(1, b, c_old)]
        g = [tanh16(a, 3) for a in self.gate(2, b, c_old)]
        i = ([32767 - v for v in f] if self.cifg
             else [sigmoid16(a, 3) for a in self.gate(0, b, c_old)])
        c = [sat16(rsh(fv * cv, 15) + rsh(iv * gv, 30 + self.n))
             for fv, cv, iv, gv in zip(f, c_old, i, g)]
        if self.cell_clip > 0:
            limit = int(min(self.cell_clip / self.c.scale, 32767))
            c = [max(-limit, min(limit, v)) for v in c]
        o = [sigmoid16(a, 3) for a in self.gate(3, b, c)]
        to_hidden = fix(np.float32(2.0**-30) / np.float32(self.hidden_scale))
        m = [sat8(mbq(ov * tanh16(cv, self.n + 15), to_hidden) - self.hidden_zero)
             for ov, cv in zip(o, c)]
        return c, self.projected(m, out_scale)

    def projected(self, m, out_scale):
        if self.projection is None:
            return m
        out = fix(product_scale(self.projection.scale, self.hidden_scale) / np.float32(out_scale))
        weights = rows(self.projection)
        biases = rows(self.projection_bias) or [0] * len(weights)
        centred = [v + self.hidden_zero for v in m]
        return [sat8(mbq(bias + dot(row, centred), out) + self.h.zero_point)
                for bias, row in zip(biases, weights)]


def quantized_lstm(ins, outs):
    cell = QuantizedCell(ins)
    require(cell.projection_clip == 0, "the projection clip is left out here")
    require(parameters(outs[0]) == parameters(outs[2]) == parameters(ins[18])
            and parameters(outs[1]) == parameters(ins[19]), "parameters of the outputs")
    c, h = zip(*[cell.row(b, ins[18].scale) for b in range(ins[0].shape[0])])
    return [np.array(h, np.int8), np.array(c, np.int16), np.array(h, np.int8)]


OPERATIONS = {"QUANTIZED_16BIT_LSTM": quantized_16bit_lstm, "QUANTIZED_LSTM": quantized_lstm}
