// Convolutions of all kinds, full connections and pools: a window moves over an image.
#version 450
#include "memory.glsl"

// FUNCTION: as WindowFunction. RESULT_TYPE: of the filter. OPTION: activation. The parameters are in
// the order of kernels/window.cc. One work item computes one element of the result.
const int SUM = 0;
const int AVERAGE = 1;
const int NORM = 2;
const int MAXIMUM = 3;

const bool IS_SUM = FUNCTION == SUM;
const int NO_BIAS = 8;  // in OPTION, beside the activation
const bool HAS_BIAS = OPTION < NO_BIAS;

struct Position {
  int channel;
  int top;    // of the window, in the image; negative in the padding
  int left;
  int image;  // first element of the image's group of channels
  int taps;  // first element of the filter for the channel
  int result;
};

Position positionOf(int item) {
  const int channels = parameter(6);
  const int channel = item % channels;
  item /= channels;
  const int x = item % parameter(5);
  item /= parameter(5);
  const int y = item % parameter(4);
  const int n = item / parameter(4);
  const int group = channel / parameter(25);
  return Position(channel,
                  y * parameter(19) - parameter(23),
                  x * parameter(20) - parameter(24),
                  n * parameter(7) + group * parameter(26) * parameter(10),
                  n * parameter(37) + channel * parameter(27),
                  n * parameter(11) + y * parameter(12) + x * parameter(13) + channel * parameter(14));
}

bool isInside(int at, int extent) { return at >= 0 && at < extent; }

void computeReal(Position p) {
  float sum = 0.0;
  float highest = 0.0;
  int cells = 0;
  for (int v = 0; v < parameter(17); ++v) {
    const int y = p.top + v * parameter(21);
    if (!isInside(y, parameter(15))) continue;
    for (int u = 0; u < parameter(18); ++u) {
      const int x = p.left + u * parameter(22);
      if (!isInside(x, parameter(16))) continue;
      const int cell = p.image + y * parameter(8) + x * parameter(9);
      if (IS_SUM) {
        const int depth = parameter(26);
        const int step = parameter(10);
        const int tapStep = parameter(30);
        int tap = p.taps + v * parameter(28) + u * parameter(29);
        for (int i = 0; i < depth; ++i) {
          sum += loadReal(TYPE, parameter(0), cell + i * step) * loadReal(TYPE, parameter(1), tap);
          tap += tapStep;
        }
      } else {
        const float value = loadReal(TYPE, parameter(0), cell);
        sum += FUNCTION == NORM ? value * value : value;
        highest = cells == 0 ? value : (value > highest ? value : highest);
      }
      ++cells;
    }
  }
  float value = highest;
  if (IS_SUM) value = sum;
  if (IS_SUM && HAS_BIAS) value += loadReal(TYPE, parameter(2), p.channel);
  if (FUNCTION == AVERAGE) value = sum / float(cells);
  if (FUNCTION == NORM) value = sqrt(sum / float(cells));
  storeReal(TYPE, parameter(3), p.result, activated(value, OPTION & 3));
}

// Divides to nearest, ties away from zero.
int quotient(int sum, int cells) {
  return sum >= 0 ? (sum + cells / 2) / cells : -((-sum + cells / 2) / cells);
}

void computeInteger(Position p) {
  int sum = 0;
  int highest = -256;
  int cells = 0;
  for (int v = 0; v < parameter(17); ++v) {
    const int y = p.top + v * parameter(21);
    if (!isInside(y, parameter(15))) continue;
    for (int u = 0; u < parameter(18); ++u) {
      const int x = p.left + u * parameter(22);
      if (!isInside(x, parameter(16))) continue;
      const int cell = p.image + y * parameter(8) + x * parameter(9);
      if (IS_SUM) {
        const int depth = parameter(26);
        const int step = parameter(10);
        const int tapStep = parameter(30);
        int tap = p.taps + v * parameter(28) + u * parameter(29);
        for (int i = 0; i < depth; ++i) {
          sum += (loadInteger(TYPE, parameter(0), cell + i * step) - parameter(31)) *
                 (loadInteger(RESULT_TYPE, parameter(1), tap) - parameter(32));
          tap += tapStep;
        }
      } else {
        const int value = loadInteger(TYPE, parameter(0), cell);
        sum += value;
        highest = max(highest, value);
      }
      ++cells;
    }
  }
  if (TYPE == INT32) {
    storeInteger(INT32, parameter(3), p.result, sum);
    return;
  }
  int value = highest;
  if (FUNCTION == AVERAGE) value = quotient(sum, cells);
  if (IS_SUM) {
    const int bias = HAS_BIAS ? loadInteger(INT32, parameter(2), p.channel) : 0;
    const float total = float(double(sum) + double(bias));
    const float units = total * loadReal(FLOAT32, parameter(36), p.channel);
    const int zeroPoint = parameter(33);
    const float low = float(parameter(34) - zeroPoint);
    const float high = float(parameter(35) - zeroPoint);
    value = int(roundEven(clamp(units, low, high))) + zeroPoint;
  }
  storeInteger(TYPE, parameter(3), p.result, clamp(value, parameter(34), parameter(35)));
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const Position p = positionOf(int(item));
  if (isReal(TYPE)) {
    computeReal(p);
  } else {
    computeInteger(p);
  }
}
