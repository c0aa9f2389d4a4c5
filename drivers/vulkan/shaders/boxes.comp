// Operations on boxes: their moves, the regions of feature maps, the keypoints of heatmaps.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#include "memory.glsl"

// FUNCTION: one of these. TYPE: of scores and feature maps. Boxes of bytes have coordinates of 16
// bits, in eighths. OPTION: 1 if channels are the second axis of images.
const int TRANSFORM = 0;
const int ALIGN_BINS = 1;
const int POOLING_BINS = 2;
const int ALIGN = 3;
const int POOLING = 4;
const int KEYPOINTS = 5;

// The reasons of a fault, as in plan/argument_transfers.cc.
const int OUTSIDE = 1;
const int WRONG_BOX = 2;

float coordinateAt(int offset, int i) {
  if (isReal(TYPE)) return loadReal(TYPE, offset, i);
  return 0.125 * float(int(shorts[(offset >> 1) + i]) & 0xffff);
}
void storeCoordinate(int offset, int i, float value) {
  if (isReal(TYPE)) {
    storeReal(TYPE, offset, i, value);
  } else {
    shorts[(offset >> 1) + i] = int16_t(quantised(double(value) * 8.0lf, 0, 0, 65535));
  }
}
float realAt(int offset, int i, int zeroPoint, float scale) {
  if (isReal(TYPE)) return loadReal(TYPE, offset, i);
  return scale * float(loadInteger(TYPE, offset, i) - zeroPoint);
}
void fail(int word, int reason) { storeInteger(INT32, word, 0, reason); }

// x1, y1, x2, y2.
vec4 boxAt(int offset, int i) {
  return vec4(coordinateAt(offset, 4 * i), coordinateAt(offset, 4 * i + 1),
              coordinateAt(offset, 4 * i + 2), coordinateAt(offset, 4 * i + 3));
}
bool isOrdered(vec4 box) { return box.x <= box.z && box.y <= box.w; }

// Parameters: offsets of boxes, deltas, batch indices, image sizes, result and the word for faults;
// classes, number of images; zero point and scale of deltas. One work item: a box of one class.
void transformBox(int i) {
  const int box = i / parameter(6);
  const vec4 corners = boxAt(parameter(0), box);
  const int image = loadInteger(INT32, parameter(2), box);
  if (image < 0 || image >= parameter(7)) {
    fail(parameter(5), OUTSIDE);
    return;
  }
  if (!isOrdered(corners)) {
    fail(parameter(5), WRONG_BOX);
    return;
  }
  for (int axis = 0; axis < 2; ++axis) {
    const float size = corners[axis + 2] - corners[axis];
    const int delta = 4 * i + axis;
    const float shift = realAt(parameter(1), delta, parameter(8), realParameter(9));
    const float growth = realAt(parameter(1), delta + 2, parameter(8), realParameter(9));
    const float center = (corners[axis] + corners[axis + 2]) / 2.0 + shift * size;
    const float extent = exp(growth) * size / 2.0;
    // Sizes of images begin with the height.
    const float limit = coordinateAt(parameter(3), 2 * image + 1 - axis);
    for (int end = 0; end < 2; ++end) {
      const float edge = end == 0 ? center - extent : center + extent;
      // NaN stays, as in the reference kernel.
      const float raised = edge < 0.0 ? 0.0 : edge;
      storeCoordinate(parameter(4), delta + 2 * end, limit < raised ? limit : raised);
    }
  }
}

// A list of cells with their weights. The word at `first` gets their number.
struct Taps {
  int first;
  int count;
};
void addTap(inout Taps taps, int cell, double weight) {
  if (weight <= 0.0lf) return;
  const int last = taps.first + 2 * taps.count;
  if (taps.count > 0 && ints[last - 1] == cell) {
    floats[last] += float(weight);
    return;
  }
  ints[last + 1] = cell;
  floats[last + 2] = float(weight);
  ++taps.count;
}

// The mean of samples with linear interpolation, as weights of cells. Samples between the same
// cells are one sum.
void sampleBin(double begin, double size, int points, int cells, int to) {
  Taps taps = Taps(to, 0);
  const int last = cells - 1;
  const double samples = points > 0 ? double(points) : ceil(size);
  precise const double interval = size / samples;
  int cell = 0;
  for (double s = 0.0lf; s < samples; ++cell) {
    precise const double position = begin + (s + 0.5lf) * interval;
    cell = max(cell, int(min(position, double(last))));
    if (cell == last) {
      addTap(taps, cell, (samples - s) / samples);
      break;
    }
    precise const double behind = ceil((double(cell + 1) - begin) / interval - 0.5lf);
    const double end = clamp(behind, s + 1.0lf, samples);
    precise const double middle = begin + (s + end) / 2.0lf * interval;
    const double fraction = clamp(middle - double(cell), 0.0lf, 1.0lf);
    precise const double weight = (end - s) / samples;
    addTap(taps, cell, weight * (1.0lf - fraction));
    addTap(taps, cell + 1, weight * fraction);
    s = end;
  }
  ints[to] = taps.count;
}

// To nearest, ties away from zero, of a number that is not negative.
int rounded(float x) { return int(floor(x)) + int(x - floor(x) >= 0.5); }

// The bins of all regions. For each region those of its rows, and then those of its columns.
// Parameters: offsets of boxes, batch indices, bins and the word for faults; number of images;
// ratios; then for rows and columns: cells, bins, words of a bin, samples.
void makeBin(int i) {
  const int rows = parameter(8);
  const int all = rows + parameter(12);
  const int region = i / all;
  const bool isColumn = i % all >= rows;
  const int bin = isColumn ? i % all - rows : i % all;
  const int axis = isColumn ? 11 : 7;
  const int cells = parameter(axis);
  const int bins = parameter(axis + 1);
  const int words = parameter(axis + 2);
  int to = (parameter(2) >> 2) + region * (rows * parameter(9) + parameter(12) * parameter(13));
  to += isColumn ? rows * parameter(9) + bin * words : bin * words;
  // Nothing, if the box is at fault.
  ints[to] = 0;
  ints[to + 1] = 0;
  const vec4 box = boxAt(parameter(0), region);
  const int image = loadInteger(INT32, parameter(1), region);
  if (image < 0 || image >= parameter(4)) {
    fail(parameter(3), OUTSIDE);
    return;
  }
  const float ratio = realParameter(isColumn ? 6 : 5);
  const float first = (isColumn ? box.x : box.y) / ratio;
  const float last = (isColumn ? box.z : box.w) / ratio;
  // A rounded ratio of sizes may put the edge slightly beyond the map's.
  const float slack = 1.0 + 4.0 / 8388608.0;
  if (!isOrdered(box) || !(first >= 0.0) || !(last <= float(cells) * slack)) {
    fail(parameter(3), WRONG_BOX);
    return;
  }
  if (FUNCTION == ALIGN_BINS) {
    const float whole = max(last - first, 1.0);
    const double size = double(whole / float(bins));
    precise const double begin = double(first) + size * double(bin);
    sampleBin(begin, size, parameter(axis + 3), cells, to);
    return;
  }
  const int64_t begin = int64_t(rounded(first));
  const int64_t size = int64_t(rounded(last)) - begin + 1;
  const int64_t count = int64_t(bins);
  ints[to] = int(min(begin + size * int64_t(bin) / count, int64_t(cells)));
  const int64_t end = begin + (size * int64_t(bin + 1) + count - 1) / count;
  ints[to + 1] = int(min(end, int64_t(cells)));
}

// An element of the result. Parameters: offsets of feature map, batch indices, bins and result;
// rows, columns and channels of the map, rows and columns of the result, words of a bin of rows and
// of columns, number of images; zero point and scale of the map; zero point, lowest and highest
// number, and scale of the result.
struct Element {
  int row;          // its bin
  int column;
  int first;        // element of the map at row and column 0
  int rowStep;      // between elements of the map
  int columnStep;
};
Element elementOf(int i) {
  const int rows = parameter(7);
  const int columns = parameter(8);
  const int channels = parameter(6);
  // Of the result: either [rows][columns][channels] or [channels][rows][columns].
  const int channel = OPTION == 1 ? i / (rows * columns) % channels : i % channels;
  const int place = OPTION == 1 ? i % (rows * columns) : i / channels % (rows * columns);
  const int region = i / (rows * columns * channels);
  const int mapRows = parameter(4);
  const int mapColumns = parameter(5);
  const int image = clamp(loadInteger(INT32, parameter(1), region), 0, parameter(11) - 1);
  const int bins = (parameter(2) >> 2) + region * (rows * parameter(9) + columns * parameter(10));
  Element element;
  element.row = bins + place / columns * parameter(9);
  element.column = bins + rows * parameter(9) + place % columns * parameter(10);
  const int size = mapRows * mapColumns * channels;
  element.first = image * size + (OPTION == 1 ? channel * mapRows * mapColumns : channel);
  element.rowStep = OPTION == 1 ? mapColumns : mapColumns * channels;
  element.columnStep = OPTION == 1 ? 1 : channels;
  return element;
}

float featureAt(int i) {
  return isReal(TYPE) ? loadReal(TYPE, parameter(0), i)
                      : float(loadInteger(TYPE, parameter(0), i));
}

void alignRegion(int i) {
  const Element element = elementOf(i);
  float sum = 0.0;
  for (int r = 0; r < ints[element.row]; ++r) {
    const int row = element.first + ints[element.row + 1 + 2 * r] * element.rowStep;
    float rowSum = 0.0;
    for (int c = 0; c < ints[element.column]; ++c) {
      const int cell = row + ints[element.column + 1 + 2 * c] * element.columnStep;
      rowSum += floats[element.column + 2 + 2 * c] * featureAt(cell);
    }
    sum += floats[element.row + 2 + 2 * r] * rowSum;
  }
  if (isReal(TYPE)) {
    storeReal(TYPE, parameter(3), i, sum);
    return;
  }
  const double factor = double(realParameter(13)) / double(realParameter(17));
  const double units = (double(sum) - double(parameter(12))) * factor;
  storeInteger(TYPE, parameter(3), i,
               quantised(units, parameter(14), parameter(15), parameter(16)));
}

void poolRegion(int i) {
  const Element element = elementOf(i);
  const int firstRow = ints[element.row];
  const int lastRow = ints[element.row + 1];
  const int firstColumn = ints[element.column];
  const int lastColumn = ints[element.column + 1];
  const bool isEmpty = firstRow >= lastRow || firstColumn >= lastColumn;
  float greatest = isReal(TYPE) ? 0.0 : float(parameter(14));
  if (!isEmpty) {
    greatest = featureAt(element.first + firstRow * element.rowStep +
                         firstColumn * element.columnStep);
  }
  for (int row = firstRow; row < lastRow; ++row) {
    for (int column = firstColumn; column < lastColumn; ++column) {
      const float value =
          featureAt(element.first + row * element.rowStep + column * element.columnStep);
      greatest = value > greatest ? value : greatest;
    }
  }
  if (isReal(TYPE)) {
    storeReal(TYPE, parameter(3), i, greatest);
  } else {
    storeInteger(TYPE, parameter(3), i, int(greatest));
  }
}

// Parameters: offsets of heatmaps, boxes, scores, keypoints and the word for faults; side of a
// heatmap, number of keypoints; zero point and scale of the map; zero point, lowest and highest
// number, and scale of scores. One work item: a keypoint of a box.
float heatAt(int map, ivec2 pixel) {
  const int side = parameter(5);
  const int keypoints = parameter(6);
  const int place = pixel.y * side + pixel.x;
  const int i = OPTION == 1
                    ? map * side * side + place
                    : (map / keypoints * side * side + place) * keypoints + map % keypoints;
  return realAt(parameter(0), i, parameter(7), realParameter(8));
}
// The edges mirror the neighbours.
float neighbour(int map, ivec2 pixel, int dx, int dy) {
  const int last = parameter(5) - 1;
  ivec2 at = pixel + ivec2(dx, dy);
  at = ivec2(at.x < 0 ? 1 : at.x, at.y < 0 ? 1 : at.y);
  return heatAt(map, ivec2(at.x > last ? last - 1 : at.x, at.y > last ? last - 1 : at.y));
}

// The peak of the parabola through a pixel and its neighbours: its distance and height.
vec3 peakAround(int map, ivec2 pixel) {
  const float value = heatAt(map, pixel);
  const float left = neighbour(map, pixel, -1, 0);
  const float right = neighbour(map, pixel, 1, 0);
  const float up = neighbour(map, pixel, 0, -1);
  const float down = neighbour(map, pixel, 0, 1);
  precise const float bx = -(right - left) / 2.0;
  precise const float by = -(down - up) / 2.0;
  precise const float axx = left - 2.0 * value + right;
  precise const float ayy = up - 2.0 * value + down;
  precise const float axy = (neighbour(map, pixel, 1, 1) - neighbour(map, pixel, -1, 1) -
                             neighbour(map, pixel, 1, -1) + neighbour(map, pixel, -1, -1)) /
                            4.0;
  precise const float determinant = axx * ayy - axy * axy;
  const float epsilon = TYPE == FLOAT16 ? 1e-3 : 1e-5;
  precise const float least = epsilon + epsilon * axx * ayy;
  if (abs(determinant) < least) return vec3(0.0, 0.0, value);
  precise vec2 delta = vec2(ayy * bx - axy * by, axx * by - axy * bx) / determinant;
  const float farthest = 1.5;
  const float distance = max(abs(delta.x), abs(delta.y));
  if (distance > farthest) delta *= farthest / distance;
  precise const float score =
      value - bx * delta.x - by * delta.y +
      (axx * delta.x * delta.x + 2.0 * axy * delta.x * delta.y + ayy * delta.y * delta.y) / 2.0;
  return vec3(delta, score);
}

void findKeypoint(int i) {
  const int side = parameter(5);
  const vec4 box = boxAt(parameter(1), i / parameter(6));
  if (!isOrdered(box)) {
    fail(parameter(4), WRONG_BOX);
    return;
  }
  ivec2 best = ivec2(0);
  float highest = heatAt(i, best);
  for (int place = 1; place < side * side; ++place) {
    const ivec2 pixel = ivec2(place % side, place / side);
    const float value = heatAt(i, pixel);
    // Any number is higher than NaN.
    if (value > highest || (isnan(highest) && !isnan(value))) {
      highest = value;
      best = pixel;
    }
  }
  const vec3 peak = peakAround(i, best);
  const vec2 place = (vec2(best) + peak.xy + 0.5) / float(side);
  if (isReal(TYPE)) {
    storeReal(TYPE, parameter(2), i, peak.z);
  } else {
    const double units = double(peak.z) / double(realParameter(12));
    storeInteger(TYPE, parameter(2), i,
                 quantised(units, parameter(9), parameter(10), parameter(11)));
  }
  storeCoordinate(parameter(3), 2 * i, box.x + place.x * (box.z - box.x));
  storeCoordinate(parameter(3), 2 * i + 1, box.y + place.y * (box.w - box.y));
}

void main() {
  const uint item = workItem();
  if (item >= count) return;
  const int i = int(item);
  switch (FUNCTION) {
    case TRANSFORM: transformBox(i); break;
    case ALIGN_BINS:
    case POOLING_BINS: makeBin(i); break;
    case ALIGN: alignRegion(i); break;
    case POOLING: poolRegion(i); break;
    default: findKeypoint(i);
  }
}
