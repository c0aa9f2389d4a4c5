#!/usr/bin/env python3
"""Draws the pictures of the architecture into docs/pictures.

    tools/site/pictures.py            writes them
    tools/site/pictures.py --check    exit status 1 if a file differs from its drawing
"""
from __future__ import annotations

import pathlib
import sys

from picture import GREY, WIDTH, Picture

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs/pictures"


def parts() -> Picture:
    p = Picture(610, "The parts of Halyard: applications, the runtime in their process, and a driver in its own")
    for x, width, name in ((10, 100, "C and C++"), (120, 90, "Python"), (220, 110, "LiteRT"),
                           (340, 130, "halyard serve")):
        p.box(x, 12, width, 32, name, kind="outside")
        p.line((x + width / 2, 44), (x + width / 2, 66))
    p.text(220, 61, "NNAPI: one C API", size=11, colour=GREY, halo=True)
    p.frame(10, 70, 460, 186, "the application's process", "own")
    p.box(30, 96, 420, 38, "src/api", "checks pointers, keeps error texts per thread", kind="own")
    p.box(30, 146, 420, 38, "src/runtime", "models, plans, executions, recovery", kind="own")
    p.box(30, 204, 200, 40, "src/cpu", "the device nnapi-reference", kind="own")
    p.box(250, 204, 200, 40, "src/hal/client", "a driver elsewhere", kind="own")
    p.line((240, 134), (240, 145))
    p.line((130, 184), (130, 203))
    p.line((350, 184), (350, 203))
    for x, first, second in ((165, "calls", "Unix socket"), (270, "runs", "ring in memory"),
                             (385, "memory", "descriptors")):
        p.line((x, 258), (x, 348))
        p.text(x + 7, 282, first, size=11, bold=True, anchor="start")
        p.text(x + 7, 297, second, size=11, anchor="start", colour=GREY)
    p.line((10, 318), (470, 318), head=False, dashed=True, colour="#b83a2e")
    p.text(14, 311, "process boundary", size=11, bold=True, anchor="start", colour="#b83a2e")
    p.text(14, 333, "no side trusts the other", size=11, anchor="start", colour="#b83a2e")
    p.frame(10, 350, 460, 248, "the driver's process", "driver")
    p.box(30, 376, 420, 38, "src/hal/sandbox", "takes away the rights that the driver lacks", kind="driver")
    p.box(30, 424, 420, 38, "src/hal/server", "receives calls, owns the clients", kind="driver")
    p.box(30, 472, 420, 38, "src/hal/session", "buffers, fences, bursts, quotas, checks; one for a client",
          kind="driver")
    p.line((240, 510), (240, 533))
    p.text(247, 526, "hal::Device", size=11, anchor="start", colour=GREY)
    for x, name, detail in ((30, "drivers/cpu", "the processor"), (173, "drivers/vulkan", "GPUs"),
                            (316, "a vendor's driver", "an accelerator")):
        p.box(x, 540, 134, 44, name, detail, kind="driver")
    return p


def compute() -> Picture:
    p = Picture(432, "The way of one compute call through the runtime, the ring and the driver")
    lanes = ((60, "application", "outside"), (180, "runtime", "own"), (300, "ring", "plain"),
             (420, "driver", "driver"))
    for x, name, kind in lanes:
        p.box(x - 52, 12, 104, 30, name, kind=kind)
        p.line((x, 42), (x, 418), head=False, colour="#c5ccd3")
    # Number, place from above, lanes of the arrow, and its texts.
    arrows = ((1, 78, 60, 180, "compute", "src/api checks the pointer"),
              (3, 182, 180, 300, "one packet", "the arguments, packed"),
              (4, 234, 300, 420, "doorbell", "the driver's thread finds it"),
              (6, 338, 420, 180, "answer", "compared with the model before use"),
              (7, 390, 180, 60, "result", ""))
    for number, y, start, end, label, detail in arrows:
        p.line((start, y), (end, y))
        p.text((start + end) / 2, y - 6, label, size=11, bold=True, halo=True)
        p.text((start + end) / 2, y + 19, detail, size=10, colour=GREY, halo=True)
        p.step(start, y, number)
    for number, y, x, name, detail, kind in ((2, 114, 102, "PlanRunner", "the steps in their order", "own"),
                                             (5, 270, 316, "computes", "the compiled steps", "driver")):
        p.box(x, y, 156, 34, name, detail, kind=kind)
        p.step(x, y + 2, number)
    return p


def compilation() -> Picture:
    p = Picture(570, "The way of one compilation, from the model to the prepared parts")
    rows = (("ANeuralNetworksModel_finish", "the validator makes a ValidModel", "own"),
            ("Compilation::finish", "asks each device for its operations", "own"),
            ("partitioner", "divides the model by predicted cost", "own"),
            ("cache", "a part comes from its files, or is compiled", "own"),
            ("driver's process", "validates again, then prepares the part", "driver"),
            ("finish returns", "every driver has answered", "own"))
    y = 14
    for number, (name, detail, kind) in enumerate(rows, 1):
        p.box(30, y, 290, 48, name, detail, kind=kind)
        p.step(30, y, number)
        if number < len(rows):
            p.line((175, y + 48), (175, y + 93))
        y += 94
    p.box(352, 100, 118, 68, "devices", "CPU, GPU,", "accelerator", kind="driver")
    p.line((320, 122), (351, 122))
    p.line((352, 146), (321, 146), dashed=True)
    p.text(411, 184, "answers have reasons", size=11, colour=GREY)
    p.box(352, 294, 118, 52, "files", "of earlier starts", kind="outside")
    p.line((352, 320), (321, 320))
    p.line((320, 414), (336, 414), (336, 226), (321, 226), dashed=True)
    p.text(342, 396, "fails:", size=11, anchor="start", colour="#b83a2e", bold=True)
    for line, text in enumerate(("its device gets no", "more, and the model", "is divided again")):
        p.text(342, 411 + line * 14, text, size=11, anchor="start", colour="#b83a2e")
    return p


def serving() -> Picture:
    p = Picture(560, "The way of a request through halyard serve")
    for x, name, detail in ((14, "HTTP", "JSON, binary"), (130, "gRPC", "also streams"), (246, "Frigate", "ZMQ"),
                            (362, "Prometheus", "/metrics, page")):
        p.box(x, 12, 104, 42, name, detail, kind="outside")
    p.frame(10, 78, 460, 336, "the process halyard-serve", "own")
    for x in (66, 182, 298):
        p.line((x, 54), (x, 77))
    p.line((414, 54), (414, 77), dashed=True)
    p.box(28, 108, 424, 40, "access", "TLS, tokens, rate and size limits, with an error that names the limit",
          kind="own")
    p.line((240, 148), (240, 169))
    p.box(28, 170, 424, 40, "checks of the request", "name, type, shape: 400 with the expected and the found",
          kind="own")
    for x, name in ((28, "queue of model A"), (256, "queue of model B")):
        p.line((x + 98, 210), (x + 98, 231))
        p.box(x, 232, 196, 40, name, "by priority and deadline", kind="own")
        p.line((x + 98, 272), (x + 98, 293))
    p.box(28, 294, 196, 40, "batch of 1, 2, 4 ...", "waits at most the delay", kind="own")
    p.box(256, 294, 196, 40, "single requests", "its elements would mix", kind="own")
    for x, name in ((28, "instance 1"), (130, "instance 2"), (256, "instance 1")):
        width = 94 if x < 256 else 196
        p.line((x + width / 2, 334), (x + width / 2, 359))
        p.box(x, 360, width, 38, name, "compiled", kind="own")
    p.line((75, 398), (75, 479), head=True)
    p.line((177, 398), (177, 479), head=True)
    p.line((354, 398), (354, 479), head=True)
    p.line((10, 446), (470, 446), head=False, dashed=True, colour="#b83a2e")
    p.text(WIDTH / 2 + 25, 438, "process boundary", size=11, bold=True, colour="#b83a2e")
    p.box(28, 480, 196, 56, "driver's process", "a dead one starts again,", "the batch is computed again",
          kind="driver")
    p.box(256, 480, 196, 56, "another driver", "an accelerator", kind="driver")
    return p


def division() -> Picture:
    p = Picture(262, "A detector that a GPU and the processor compute together")
    p.text(WIDTH / 2, 24, "coco_ssd_mobilenet_v1_quant: one model, two partitions", size=13, bold=True)
    p.box(14, 62, 66, 56, "picture", "270,000 B", kind="outside")
    p.box(110, 50, 168, 80, "halyard-vulkan", "operations 0 to 62, and 65", "predicted 1.48 ms", kind="driver")
    p.box(310, 50, 100, 80, "halyard-cpu", "63, 64, 66", "113 us", kind="own")
    p.box(424, 62, 48, 56, "boxes", "244 B", kind="outside")
    p.line((80, 90), (109, 90))
    p.line((278, 90), (309, 90))
    p.line((410, 90), (423, 90))
    p.text(294, 148, "212,787 B", size=11, colour=GREY)
    p.text(14, 180, "Why not on halyard-vulkan?", size=12, bold=True, anchor="start")
    p.text(14, 198, "63 and 64: cheaper together with their neighbours on the processor", size=11, anchor="start")
    p.text(14, 214, "66: the device has no kernel for DETECTION_POSTPROCESSING", size=11, anchor="start")
    p.text(14, 240, "Plan: 1.59 ms, of which 1.56 ms are computing and 27.2 us are the borders", size=11,
           anchor="start", colour=GREY)
    return p


def recovery() -> Picture:
    p = Picture(330, "The steps after the death of a driver in an execution")
    p.box(130, 12, 220, 40, "an execution runs", "and the driver's process ends", kind="warning")
    p.line((240, 52), (240, 79))
    p.box(130, 80, 220, 40, "the driver starts again", "and computes the step", kind="driver")
    p.line((240, 120), (240, 157))
    p.text(247, 143, "fails too", size=11, anchor="start", colour="#b83a2e")
    p.box(130, 158, 220, 40, "another device", "that takes the step", kind="driver")
    p.line((240, 198), (240, 235))
    p.text(247, 221, "fails too", size=11, anchor="start", colour="#b83a2e")
    p.box(130, 236, 220, 40, "the CPU device", "nnapi-reference", kind="own")
    for y in (100, 178, 256):
        p.line((350, y), (394, y))
    p.box(395, 80, 76, 196, "result", "and an", "event in", "the report", kind="outside")
    p.box(8, 80, 108, 60, "named device", "the application", "gets the error", kind="plain")
    p.line((130, 32), (62, 32), (62, 79), dashed=True)
    p.text(WIDTH / 2, 308, "Later executions use the replacement.", size=11, colour=GREY)
    return p


def scale() -> Picture:
    p = Picture(400, "Distribution of a model to many machines, and counts that come back")
    p.box(150, 12, 180, 42, "origin", "models by digest, one build", kind="outside")
    for x in (90, 240, 390):
        p.line((240, 54), (x, 91))
        p.box(x - 66, 92, 132, 40, "mirror", "for 100 machines", kind="outside")
    waves = ((16, "wave 1", "10 machines"), (132, "wave 2", "100"), (248, "wave 3", "1,000"),
             (364, "wave 4", "the rest"))
    for x, name, machines in waves:
        p.line((x + 50, 132), (x + 50, 167))
        p.box(x, 168, 100, 40, name, machines, kind="own")
    for x in (116, 232, 348):
        p.line((x, 188), (x + 15, 188))
    p.frame(16, 226, 448, 74, "each machine", "own")
    p.box(28, 250, 132, 40, "compiles", "3 ms, or from a cache", kind="own")
    p.box(174, 250, 132, 40, "serves", "halyard serve", kind="own")
    p.box(320, 250, 132, 40, "verifies", "one of N executions", kind="driver")
    p.line((160, 270), (173, 270))
    p.line((306, 270), (319, 270))
    p.line((386, 300), (386, 341))
    p.box(150, 342, 314, 42, "collector", "verified and failed, by model, build and processor", kind="outside")
    p.line((150, 363), (8, 363), (8, 188), (15, 188), dashed=True)
    p.text(18, 330, "the next wave", size=11, anchor="start", colour=GREY)
    p.text(18, 345, "or the way back", size=11, anchor="start", colour=GREY)
    return p


def cluster() -> Picture:
    p = Picture(330, "A job of numbered parts on the workers of a Ray cluster")
    p.box(14, 12, 130, 44, "run_job", "skips whole parts", kind="own")
    p.box(186, 12, 130, 44, "Ray Data", "parts, retries, scaling", kind="outside")
    p.line((144, 34), (185, 34))
    for x, name in ((14, "node 1"), (170, "node 2"), (326, "node 3")):
        p.frame(x, 92, 140, 128, name, "driver")
        p.line((251, 56), (x + 70, 91))
        p.box(x + 12, 118, 116, 40, "worker", "one for the device", kind="own")
        p.line((x + 70, 158), (x + 70, 173))
        p.box(x + 12, 174, 116, 36, "halyard-cpu", kind="driver")
        p.line((x + 70, 220), (x + 70, 253))
    p.text(250, 242, "one rename for each part", size=11, colour=GREY, halo=True)
    p.box(14, 254, 452, 56, "shared folder", "job.json, part-00000000.npz, part-00000001.npz ...",
          "each row exactly once", kind="outside")
    return p


def service() -> Picture:
    p = Picture(330, "A driver as a service with several clients")
    for x, name in ((14, "application A"), (176, "application B"), (338, "halyard serve")):
        p.box(x, 12, 128, 34, name, kind="outside")
        p.line((x + 64, 46), (x + 64, 89))
    p.line((10, 68), (470, 68), head=False, dashed=True, colour="#b83a2e")
    p.text(240, 82, "/run/halyard/npu.sock", size=11, colour=GREY, halo=True)
    p.frame(10, 90, 460, 190, "the service of the driver, under a user of its own", "driver")
    for x, name in ((26, "lane of A"), (180, "lane of B"), (334, "lane of C")):
        p.box(x, 118, 120, 40, name, "limits, quotas", kind="driver")
        p.line((x + 60, 158), (x + 60, 181))
    p.box(26, 182, 428, 40, "executor", "the next call of the client with the fewest running calls", kind="driver")
    p.line((240, 222), (240, 237))
    p.box(140, 238, 200, 32, "the driver's class", kind="driver")
    p.text(240, 304, "systemd starts it at the first connection, without the rights it lacks.", size=11, colour=GREY)
    return p


def caching() -> Picture:
    p = Picture(398, "The way of a compilation through the cache")
    p.box(120, 12, 240, 42, "key", "SHA-256 of model, device, options, builds", kind="own")
    p.line((240, 54), (240, 77))
    p.box(120, 78, 240, 42, "are the files there?", "a set, found by the key", kind="own")
    p.line((360, 99), (400, 99), (400, 185))
    p.text(406, 120, "no", size=11, anchor="start", bold=True)
    p.line((240, 120), (240, 153))
    p.text(247, 140, "yes", size=11, anchor="start", bold=True)
    p.box(40, 154, 270, 56, "the driver reads and digests", "all bytes, once, into memory of its own,", "and compares with its store",
          kind="driver")
    p.box(330, 186, 140, 56, "the driver compiles", "and writes new files", "under other names", kind="driver")
    p.line((310, 172), (345, 172), (345, 185))
    p.text(350, 177, "differs", size=11, bold=True, anchor="start", colour="#b83a2e")
    p.line((120, 210), (120, 337))
    p.text(127, 262, "equal", size=11, anchor="start", bold=True)
    p.line((400, 242), (400, 273))
    p.box(260, 274, 210, 40, "the last rename makes a set", "as a whole, or not at all", kind="own")
    p.line((365, 314), (365, 337))
    p.box(20, 338, 200, 44, "hit", "a prepared model at once", kind="outside")
    p.box(260, 338, 210, 44, "miss", "compiled; the next start is a hit", kind="outside")
    return p


def shadow() -> Picture:
    p = Picture(330, "Shadow verification of one of N executions")
    p.text(14, 30, "application", size=12, bold=True, anchor="start")
    for i in range(9):
        turn = i == 4
        p.box(112 + i * 39, 14, 34, 26, "N" if turn else str(i + 1), kind="warning" if turn else "outside")
    p.text(14, 82, "driver", size=12, bold=True, anchor="start")
    for i in range(9):
        p.line((129 + i * 39, 40), (129 + i * 39, 63))
        p.box(112 + i * 39, 64, 34, 26, "", kind="driver")
    p.line((285, 90), (285, 123))
    p.text(292, 112, "copies of inputs and outputs", size=11, anchor="start", colour=GREY)
    p.box(160, 124, 250, 42, "CPU device, in the background", "the lowest class of the scheduler", kind="own")
    p.line((285, 166), (285, 189))
    p.box(160, 190, 250, 42, "comparison", "by the criteria of accuracy", kind="own")
    p.line((200, 232), (120, 265))
    p.line((370, 232), (380, 265))
    p.text(112, 250, "equal", size=11, bold=True)
    p.text(404, 252, "differs", size=11, bold=True, colour="#b83a2e")
    p.box(14, 266, 200, 44, "counts in the report", "verified, largest error", kind="outside")
    p.box(250, 266, 216, 44, "quarantine", "the driver computes nothing more", kind="warning")
    return p


def delegate() -> Picture:
    p = Picture(300, "The nodes of an interpreter's graph, divided between the delegate and the interpreter")
    p.frame(10, 10, 460, 120, "the interpreter's graph", "outside")
    names = ("CONV", "CONV", "custom", "CONV", "SOFTMAX")
    for i, name in enumerate(names):
        kind = "plain" if name == "custom" else "own"
        p.box(22 + i * 90, 52, 78, 34, name, kind=kind)
        if i:
            p.line((22 + i * 90 - 12, 69), (22 + i * 90 - 1, 69))
    p.text(105, 108, "partition 1", size=11, colour=GREY)
    p.text(241, 108, "stays, with a reason", size=11, colour="#b83a2e")
    p.text(376, 108, "partition 2", size=11, colour=GREY)
    for x in (105, 376):
        p.line((x, 130), (x, 163))
    p.box(20, 164, 440, 42, "libhalyard_tflite_delegate.so", "each partition becomes a model file in memory, imported and compiled",
          kind="own")
    p.line((240, 206), (240, 237))
    p.box(110, 238, 260, 44, "Halyard's devices", "constants are mapped from the model's file", kind="driver")
    return p


PICTURES = {"parts": parts, "compute": compute, "compilation": compilation, "serving": serving,
            "division": division, "recovery": recovery, "scale": scale,
            "cluster": cluster, "service": service, "caching": caching, "shadow": shadow, "delegate": delegate}


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"pictures: unknown arguments {arguments}, expected none or --check", file=sys.stderr)
        return 2
    differing = 0
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        path = FOLDER / f"{name}.svg"
        svg = draw().svg()
        if not arguments:
            path.write_text(svg)
        elif not path.exists() or path.read_text() != svg:
            print(f"pictures: {path} differs from its drawing; run tools/site/pictures.py", file=sys.stderr)
            differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
