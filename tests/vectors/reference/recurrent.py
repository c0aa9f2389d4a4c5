"""Recurrent operations on floating point."""
import numpy as np

from .operand import require


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    0: lambda x: x, 1: lambda x: np.maximum(x, 0), 2: lambda x: np.clip(x, -1, 1),
    3: lambda x: np.clip(x, 0, 6), 4: np.tanh, 6: sigmoid,
}


def activation(code):
    require(code in ACTIVATIONS, "activation {}", code)
    return ACTIVATIONS[code]


def real(operand):
    return None if operand is None else operand.real()


def all_or_none(values, what):
    present = [v is not None for v in values]
    require(all(present) or not any(present), "{} only in part", what)
    return all(present)


class Cell:
    """One LSTM cell. Lists have an element for each of the gates i, f, c, o; None: absent."""

    def __init__(self, wx, wh, peephole, bias, projection, projection_bias, norm, aux=None):
        self.wx, self.wh, self.peephole, self.bias, self.norm = wx, wh, peephole, bias, norm
        self.projection, self.projection_bias = projection, projection_bias
        self.aux = aux or [None] * 4
        self.cifg = not all_or_none([wx[0], wh[0], bias[0]], "input gate")
        require(all(v is not None for group in (wx, wh, bias) for v in group[1:]),
                "a gate lacks its weights")
        if self.cifg:
            for group, what in ((peephole, "peephole"), (norm, "layer norm"), (self.aux, "aux")):
                require(group[0] is None, "{} of an absent input gate", what)
        first = 1 if self.cifg else 0
        peep = [peephole[k] for k in range(4) if k != 2][first:]
        self.peeps = all_or_none(peep, "peephole")
        self.normed = all_or_none(norm[first:], "layer norm")
        self.auxed = all_or_none(self.aux[first:], "aux weights")
        require(projection_bias is None or projection is not None, "bias without projection")

    @classmethod
    def from_operands(cls, ins, norm, aux=None):
        """From the 17 operands that all forms list in one order, then those that they do not."""
        v = [real(i) for i in ins]
        return cls(v[0:4], v[4:8], [v[8], v[9], None, v[10]], v[11:15], v[15], v[16],
                   [real(i) for i in norm], [real(i) for i in aux] if aux else None)

    def check_shapes(self, x, h, c):
        cells, size = self.wx[1].shape
        out = self.wh[1].shape[1]
        require(x.shape[-1] == size and h.shape[1] == out and c.shape[1] == cells
                and h.shape[0] == c.shape[0], "shapes {}, {}, {}", x.shape, h.shape, c.shape)
        require(all(w is None or w.shape == (cells, size) for w in self.wx)
                and all(w is None or w.shape == (cells, out) for w in self.wh)
                and all(w is None or w.shape == (cells,)
                        for w in self.bias + self.peephole + self.norm), "weight shapes")
        if self.projection is None:
            require(out == cells, "{} outputs of {} cells without projection", out, cells)
        else:
            require(self.projection.shape == (out, cells), "projection shape")

    def step(self, x, h, c, g, cell_clip, projection_clip, aux=None):
        def gate(k, state):
            a = x @ self.wx[k].T + h @ self.wh[k].T
            if aux is not None:
                a = a + aux @ self.aux[k].T
            if self.peephole[k] is not None:
                a = a + self.peephole[k] * state
            if self.norm[k] is not None:
                a = ((a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-8)
                     * self.norm[k])
            return a + self.bias[k]

        f = sigmoid(gate(1, c))
        i = 1 - f if self.cifg else sigmoid(gate(0, c))
        c = f * c + i * g(gate(2, c))
        if cell_clip > 0:
            c = np.clip(c, -cell_clip, cell_clip)
        h_new = sigmoid(gate(3, c)) * g(c)
        if self.projection is not None:
            h_new = h_new @ self.projection.T
            if self.projection_bias is not None:
                h_new = h_new + self.projection_bias
            if projection_clip > 0:
                h_new = np.clip(h_new, -projection_clip, projection_clip)
        return h_new, c

    def sequence(self, x, h, c, arguments, aux=None, backward=False):
        """x [time, batch, size]; all outputs [time, batch, size], last h, last c."""
        self.check_shapes(x[0], h, c)
        outputs = [None] * len(x)
        for t in (reversed(range(len(x))) if backward else range(len(x))):
            h, c = self.step(x[t], h, c, *arguments, aux=None if aux is None else aux[t])
            outputs[t] = h
        return np.stack(outputs), h, c


def arguments_of(code, cell_clip, projection_clip):
    g, clips = activation(code.scalar()), (cell_clip.scalar(), projection_clip.scalar())
    require(min(clips) >= 0, "clip {}", min(clips))
    return (g, *clips)


def lstm(ins, outs):
    norm = ins[23:27] if len(ins) > 23 else [None] * 4
    cell = Cell.from_operands(ins[1:18], norm)
    x, h, c = (i.real() for i in (ins[0], ins[18], ins[19]))
    cell.check_shapes(x, h, c)
    h, c = cell.step(x, h, c, *arguments_of(*ins[20:23]))
    scratch = np.zeros((x.shape[0], c.shape[1] * (3 if cell.cifg else 4)))
    return [outs[0].store(scratch), outs[1].store(h), outs[2].store(c), outs[3].store(h)]


def unidirectional_lstm(ins, outs):
    cell = Cell.from_operands(ins[1:18], ins[24:28])
    time_major = ins[23].flag()
    x = ins[0].real() if time_major else ins[0].real().swapaxes(0, 1)
    y, h, c = cell.sequence(x, ins[18].real(), ins[19].real(), arguments_of(*ins[20:23]))
    y = y if time_major else y.swapaxes(0, 1)
    return [out.store(v) for out, v in zip(outs, (y, h, c))]


def linked(aux, weights):
    """The backward direction's input ('x' or 'aux'), and whether both directions read aux."""
    require(all(w is None for w in weights) or aux is not None, "aux weights without aux input")
    if aux is None:
        return "x", False
    if all(w is None for w in weights):
        return "aux", False
    return "x", True


def bidirectional_results(outs, merge, time_major, forward, backward):
    """Each direction is (outputs, state...); the states follow the outputs where listed."""
    sides = [s[0] if time_major else s[0].swapaxes(0, 1) for s in (forward, backward)]
    results = [np.concatenate(sides, -1)] if merge else sides
    results += [*forward[1:], *backward[1:]]
    counts = (len(results) - len(forward[1:]) * 2, len(results))
    require(len(outs) in counts, "{} outputs", len(outs))
    return [out.store(v) for out, v in zip(outs, results)]


def bidirectional_lstm(ins, outs):
    merge, time_major = ins[51].flag(), ins[52].flag()
    mode, cross = linked(ins[39], ins[40:48])
    if cross:
        require(ins[41] is not None and ins[45] is not None, "aux weights of one direction only")
    forward = Cell.from_operands(ins[1:18], ins[53:57], ins[40:44])
    backward = Cell.from_operands(ins[18:35], ins[57:61], ins[44:48])
    arguments = arguments_of(*ins[48:51])
    order = (lambda i: i.real()) if time_major else (lambda i: i.real().swapaxes(0, 1))
    x = order(ins[0])
    aux = None if ins[39] is None else order(ins[39])
    f = forward.sequence(x, ins[35].real(), ins[36].real(), arguments, aux if cross else None)
    b = backward.sequence(aux if mode == "aux" else x, ins[37].real(), ins[38].real(), arguments,
                          aux if cross else None, backward=True)
    return bidirectional_results(outs, merge, time_major, f, b)


def rnn_sequence(x, weights, recurrent, bias, h, code, aux=None, aux_weights=None,
                 backward=False):
    act = activation(code)
    require(weights.shape == (len(bias), x.shape[-1]) and recurrent.shape == (len(bias),) * 2
            and h.shape == (x.shape[1], len(bias)), "shapes")
    outputs = [None] * len(x)
    for t in (reversed(range(len(x))) if backward else range(len(x))):
        a = x[t] @ weights.T + h @ recurrent.T + bias
        if aux is not None:
            a = a + aux[t] @ aux_weights.T
        h = outputs[t] = act(a)
    return np.stack(outputs), h


def rnn(ins, outs):
    x, w, r, bias, h = (i.real() for i in ins[:5])
    _, h = rnn_sequence(x[None], w, r, bias, h, ins[5].scalar())
    return [out.store(h) for out in outs]


def unidirectional_rnn(ins, outs):
    x, w, r, bias, h = (i.real() for i in ins[:5])
    time_major = ins[6].scalar()
    require(time_major in (0, 1), "time major {}", time_major)
    y, h = rnn_sequence(x if time_major else x.swapaxes(0, 1), w, r, bias, h, ins[5].scalar())
    return [out.store(v) for out, v in zip(outs, (y if time_major else y.swapaxes(0, 1), h))]


def bidirectional_rnn(ins, outs):
    code, time_major, merge = ins[12].scalar(), ins[13].flag(), ins[14].flag()
    mode, cross = linked(ins[9], ins[10:12])
    require((ins[10] is None) == (ins[11] is None), "aux weights of one direction only")
    order = (lambda i: i.real()) if time_major else (lambda i: i.real().swapaxes(0, 1))
    x = order(ins[0])
    aux = None if ins[9] is None else order(ins[9])
    f = rnn_sequence(x, *(i.real() for i in ins[1:5]), code, aux if cross else None,
                     real(ins[10]))
    b = rnn_sequence(aux if mode == "aux" else x, *(i.real() for i in ins[5:9]), code,
                     aux if cross else None, real(ins[11]), backward=True)
    return bidirectional_results(outs, merge, time_major, f, b)


def svdf(ins, outs):
    x, feature, time, state = (i.real() for i in (ins[0], ins[1], ins[2], ins[4]))
    rank, act = ins[5].scalar(), activation(ins[6].scalar())
    filters, memory = time.shape
    require(rank > 0 and filters % rank == 0 and feature.shape == (filters, x.shape[1])
            and state.shape == (x.shape[0], memory * filters), "shapes")
    s = state.reshape(-1, filters, memory).copy()
    s[:, :, -1] = x @ feature.T
    y = (s * time).sum(2).reshape(x.shape[0], filters // rank, rank).sum(2)
    if ins[3] is not None:
        y = y + ins[3].real()
    shifted = np.zeros_like(s)
    shifted[:, :, :-1] = s[:, :, 1:]
    return [outs[0].store(shifted.reshape(state.shape)), outs[1].store(act(y))]


OPERATIONS = {
    "LSTM": lstm, "UNIDIRECTIONAL_SEQUENCE_LSTM": unidirectional_lstm,
    "BIDIRECTIONAL_SEQUENCE_LSTM": bidirectional_lstm, "RNN": rnn,
    "UNIDIRECTIONAL_SEQUENCE_RNN": unidirectional_rnn,
    "BIDIRECTIONAL_SEQUENCE_RNN": bidirectional_rnn, "SVDF": svdf,
}
