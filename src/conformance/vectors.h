// Conformance vectors: small models with inputs and the outputs that are right for them, read from
// files NAME.jsonl.gz with one JSON object a line.
// Thread safety: a VectorFile belongs to one thread; cases are plain data, the functions are pure.
// Ownership: a case owns its model and bytes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/gzip_lines.h"
#include "halyard/driver/model.h"
#include "halyard/driver/status.h"

namespace halyard::conformance {

struct VectorInput {
  std::vector<uint8_t> bytes;  // elements as in memory, little endian
  bool omitted = false;        // to be given without a value
};

struct VectorOutput {
  std::vector<uint8_t> bytes;  // what is right
  Shape dims;                  // the real dimensions, also where the model leaves them open
  bool ignored = false;        // the values are not to be compared
};

struct VectorCase {
  std::string name;
  // Lowest HAL version that supports the model, "1.0" to "1.3"; "2.1" and "2.2" stand for feature
  // levels 6 and 7. Empty: not stated.
  std::string hal;
  bool relaxed = false;        // relaxComputationFloat32toFloat16; also in the model
  bool expectFailure = false;  // must be refused, at whatever moment
  // > 0: the output is a random draw; see compare().
  double multinomialTolerance = 0;
  // Constants are in operandValues, those with lifetime CONSTANT_REFERENCE in a pool.
  Model model;
  std::vector<VectorInput> inputs;    // one per main input
  std::vector<VectorOutput> outputs;  // one per main output
};

// One case from a line of a file. BAD_DATA names the field and what is wrong with it. The model's
// tables are well formed, but whether it is a valid model is for validateModel to say. Unless the
// case expects failure, inputs and outputs have as many bytes as their dimensions say.
Result<VectorCase> parseVectorCase(std::string_view json);

// The case as a line, without its end, that parseVectorCase makes the same case of; constants that
// lie in pools stay there. An error when a pool cannot be read.
Result<std::string> vectorLine(const VectorCase& vectorCase);

// One case of a file, not looked at yet.
struct VectorLine {
  std::string text;
  size_t number = 0;  // the first line is 1
};

// The cases of one file in order.
class VectorFile {
 public:
  static Result<VectorFile> open(const std::string& path);
  // nullopt after the last case. Errors name the file and the line; reading may go on after a bad
  // line, but not after a damaged file.
  Result<std::optional<VectorCase>> next();
  // As next(), before parsing: blank lines are left out, and an error is a damaged file.
  Result<std::optional<VectorLine>> nextLine();

 private:
  VectorFile(std::string path, GzipLines lines);
  std::string path_;
  GzipLines lines_;
};

// What a model may leave open about its outputs.
enum class OutputShapes {
  KNOWN,               // as in the file
  UNKNOWN_DIMENSIONS,  // every dimension of every main output is 0
  UNKNOWN_RANK,        // every main output has no dimensions
};
// A copy of the case's model with less said about its main outputs; scalars stay as they are.
Model withOutputShapes(const VectorCase& vectorCase, OutputShapes shapes);

// An output as a device computed it.
struct ActualOutput {
  std::vector<uint8_t> bytes;
  Shape dims;
};

// OK when every output is right: the same dimensions, and every element within the tolerance of its
// type (|actual - expected| <= atol + rtol * |expected|):
//   float32                  atol 1e-5,     rtol 5 * 2^-23
//   float32 in relaxed case  atol 5 * 2^-10, rtol 5 * 2^-10
//   float16                  atol 5 * 2^-10, rtol 5 * 2^-10
//   quantised                one unit
//   integer and bool         equal
// Infinities and NaN must be where they are expected. With a multinomial tolerance the output
// [batches, samples] holds class numbers instead, and each class must be drawn as often, relative
// to the samples, as the log-probabilities in input 0 [batches, classes] say, within the tolerance.
// OP_FAILED otherwise; the text has the first difference, where it is, and how many there are. A
// case that expects failure has no right outputs: always OP_FAILED.
Status compare(const VectorCase& vectorCase, std::span<const ActualOutput> actual);

}  // namespace halyard::conformance
