"""Halyard beside LiteRT, ONNX Runtime and OpenVINO: see ../README.md."""
