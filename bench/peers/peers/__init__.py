"""Compares Halyard with LiteRT, ONNX Runtime and OpenVINO: see ../README.md."""
