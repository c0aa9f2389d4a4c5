"""A slow, plain interpreter of NNAPI models in float64 and exact integers.

It computes the expected results independently of the C++ kernels: every operation follows its
description alone. Speed does not matter here.
"""
