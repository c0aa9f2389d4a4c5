"""A slow, plain interpreter of NNAPI models in float64 and exact integers.

It exists to say what is right, independently of the C++ kernels: every operation is worked out from
its description alone. Nothing here is meant to be fast.
"""
