"""Transformers with random weights as .tflite files, for measurements of speed. `kind` is FLOAT,
FLOAT16 or DYNAMIC of tflite_writer."""

import numpy as np

from peers import tflite_writer as tfl


class _MobileBert:
    """Sun et al., MobileBERT, 2020, table 1: 24 layers behind the embedding."""

    HIDDEN, INNER, HEADS, LAYERS, STACKS, LENGTH = 512, 128, 4, 24, 4, 128

    def __init__(self, kind):
        self._writer = tfl.TfliteWriter(kind)

    def _norm(self, x):
        """The paper's NoNorm: a factor and a summand for each channel."""
        writer, depth = self._writer, self._writer.shape(x)[-1]
        factor = writer.constant(np.full(depth, 0.5, np.float32))
        summand = writer.constant(np.linspace(-0.1, 0.1, depth, dtype=np.float32))
        return writer.add(writer.multiply(x, factor), summand)

    def _heads(self, x):
        """[1, length, inner] to [1, heads, length, inner / heads]."""
        shape = (1, self.LENGTH, self.HEADS, self.INNER // self.HEADS)
        return self._writer.transpose(self._writer.reshape(x, shape), (0, 2, 1, 3))

    def _attention(self, queries_from, values_from):
        writer = self._writer
        queries, keys = (self._heads(writer.fully_connected(queries_from, self.INNER))
                         for _ in range(2))
        values = self._heads(writer.fully_connected(values_from, self.INNER))
        scale = writer.constant(np.full(1, (self.INNER // self.HEADS) ** -0.5, np.float32))
        scores = writer.multiply(writer.batch_matmul(queries, keys, adjoint_b=True), scale)
        mixed = writer.transpose(writer.batch_matmul(writer.softmax(scores), values), (0, 2, 1, 3))
        mixed = writer.reshape(mixed, (1, self.LENGTH, self.INNER))
        return writer.fully_connected(mixed, self.INNER)

    def _layer(self, x):
        writer = self._writer
        inner = self._norm(writer.fully_connected(x, self.INNER))
        shared = self._norm(writer.fully_connected(x, self.INNER))
        inner = self._norm(writer.add(self._attention(shared, x), inner))
        for _ in range(self.STACKS):
            wide = writer.fully_connected(inner, 4 * self.INNER, tfl.RELU)
            inner = self._norm(writer.add(writer.fully_connected(wide, self.INNER), inner))
        return self._norm(writer.add(writer.fully_connected(inner, self.HIDDEN), x))

    def build(self):
        x = self._writer.input((1, self.LENGTH, self.HIDDEN))
        for _ in range(self.LAYERS):
            x = self._layer(x)
        x = self._writer.fully_connected(x, 2)
        return self._writer.finish(
            [x], f"MobileBERT behind its embedding, {self._writer.kind}, random weights")


def mobilebert(kind):
    return _MobileBert(kind).build()


class _Encoder:
    """Layers of attention and of a network for each token: Vaswani et al., 2017."""

    def __init__(self, kind, hidden, heads, inner):
        self.writer = tfl.TfliteWriter(kind)
        self._hidden, self._heads, self._inner = hidden, heads, inner

    def _split(self, x):
        """[1, length, hidden] to [1, heads, length, hidden / heads]."""
        shape = (1, self.writer.shape(x)[1], self._heads, self._hidden // self._heads)
        return self.writer.transpose(self.writer.reshape(x, shape), (0, 2, 1, 3))

    def _attention(self, x):
        writer = self.writer
        queries, keys, values = (self._split(writer.fully_connected(x, self._hidden))
                                 for _ in range(3))
        scale = writer.constant(np.full(1, (self._hidden // self._heads) ** -0.5, np.float32))
        scores = writer.batch_matmul(writer.multiply(queries, scale), keys, adjoint_b=True)
        mixed = writer.batch_matmul(writer.softmax(scores), values)
        mixed = writer.reshape(writer.transpose(mixed, (0, 2, 1, 3)), writer.shape(x))
        return writer.fully_connected(mixed, self._hidden)

    def _network(self, x):
        wide = self.writer.gelu(self.writer.fully_connected(x, self._inner))
        return self.writer.fully_connected(wide, self._hidden)

    def norm_behind(self, x):
        """A layer of BERT: sums are normalised."""
        writer = self.writer
        x = writer.layer_norm(writer.add(x, self._attention(x)))
        return writer.layer_norm(writer.add(x, self._network(x)))

    def norm_before(self, x):
        """A layer of later models: inputs are normalised, sums are not."""
        writer = self.writer
        x = writer.add(x, self._attention(writer.layer_norm(x)))
        return writer.add(x, self._network(writer.layer_norm(x)))

    def positions(self, x):
        """Adds a constant for each position."""
        values = np.random.default_rng(2).normal(0, 0.02, self.writer.shape(x))
        return self.writer.add(x, self.writer.constant(values.astype(np.float32)))


def minilm(kind, length=128):
    """Wang et al., MiniLM, 2020: sentence embedding by 6 layers of 384, behind the embedding."""
    encoder = _Encoder(kind, hidden=384, heads=12, inner=1536)
    x = encoder.writer.layer_norm(encoder.writer.input((1, length, 384)))
    for _ in range(6):
        x = encoder.norm_behind(x)
    return encoder.writer.finish([encoder.writer.mean(x, 1, keep=False)],
                                 f"MiniLM L6 behind its embedding, {kind}, random weights")


def vit_tiny(kind):
    """Touvron et al., DeiT, 2021: ViT-Ti with patches of 16 x 16 of 224 x 224 pixels."""
    encoder = _Encoder(kind, hidden=192, heads=3, inner=768)
    writer = encoder.writer
    x = writer.conv(writer.input((1, 224, 224, 3)), 16, 16, 192, tfl.NONE)
    x = writer.reshape(x, (1, 196, 192))
    token = writer.constant(np.random.default_rng(3).normal(0, 0.02, (1, 1, 192)).astype(np.float32))
    x = encoder.positions(writer.concatenate([token, x], 1))
    for _ in range(12):
        x = encoder.norm_before(x)
    x = writer.mean(writer.layer_norm(x), 1, keep=False)
    return writer.finish([writer.softmax(writer.fully_connected(x, 1000))],
                         f"ViT-Ti/16 224 with averaged tokens, {kind}, random weights")


def whisper_tiny(kind, frames=3000):
    """Radford et al., Whisper, 2022: the encoder of `tiny` for 30 s of sound."""
    encoder = _Encoder(kind, hidden=384, heads=6, inner=1536)
    writer = encoder.writer
    x = writer.input((1, 1, frames, 80))
    x = writer.gelu(writer.conv(x, 3, 1, 384, tfl.NONE))
    x = writer.gelu(writer.conv(x, 3, 2, 384, tfl.NONE))
    x = encoder.positions(writer.reshape(x, (1, frames // 2, 384)))
    for _ in range(4):
        x = encoder.norm_before(x)
    return writer.finish([writer.layer_norm(x)], f"Whisper tiny's encoder, {kind}, random weights")
