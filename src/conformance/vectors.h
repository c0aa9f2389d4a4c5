// Conformance vectors: small models with inputs and correct outputs, from files NAME.jsonl.gz with
// one JSON object per line.
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
  std::vector<uint8_t> bytes;  // elements in memory layout, little endian
  bool omitted = false;        // the execution gives no value
};

struct VectorOutput {
  std::vector<uint8_t> bytes;  // the expected bytes
  Shape dims;                  // the real dimensions, even if the model leaves them open
  bool ignored = false;        // the values are not compared
};

struct VectorCase {
  std::string name;
  // Lowest HAL version that supports the model, "1.0" to "1.3". "2.1" and "2.2" stand for feature
  // levels 6 and 7. Empty: not stated.
  std::string hal;
  bool relaxed = false;        // relaxComputationFloat32toFloat16; also in the model
  bool expectFailure = false;  // must be refused at any stage
  // Above 0: the output is a random draw; see compare().
  double multinomialTolerance = 0;
  // Constants are in operandValues. Those with lifetime CONSTANT_REFERENCE are in a pool.
  Model model;
  std::vector<VectorInput> inputs;    // one per main input
  std::vector<VectorOutput> outputs;  // one per main output
};

// Parses one case from a line of a file. BAD_DATA names the field and its error. The model's tables
// are well formed, but only validateModel checks whether the model is valid. Unless the case
// expects failure, the number of bytes of inputs and outputs matches their dimensions.
Result<VectorCase> parseVectorCase(std::string_view json);

// Returns the case as a line without its end. parseVectorCase makes the same case of it; constants
// in pools stay there. Returns an error when a pool is unreadable.
Result<std::string> vectorLine(const VectorCase& vectorCase);

// One unparsed case of a file.
struct VectorLine {
  std::string text;
  size_t number = 0;  // counts from 1
};

// Iterates over the cases of one file.
class VectorFile {
 public:
  static Result<VectorFile> open(const std::string& path);
  // Returns nullopt after the last case. Errors name the file and the line. The caller may continue
  // after a bad line, but not after a damaged file.
  Result<std::optional<VectorCase>> next();
  // As next(), but without parsing. Skips blank lines. An error means a damaged file.
  Result<std::optional<VectorLine>> nextLine();

 private:
  VectorFile(std::string path, GzipLines lines);
  std::string path_;
  GzipLines lines_;
};

// The information about its outputs that a model may leave open.
enum class OutputShapes {
  KNOWN,               // as in the file
  UNKNOWN_DIMENSIONS,  // every dimension of every main output is 0
  UNKNOWN_RANK,        // every main output has no dimensions
};
// Returns a copy of the case's model with less information about its main outputs. Scalars stay
// unchanged.
Model withOutputShapes(const VectorCase& vectorCase, OutputShapes shapes);

// An output as a device computed it.
struct ActualOutput {
  std::vector<uint8_t> bytes;
  Shape dims;
};

// Returns OK when every output has the expected dimensions, and every element is within the
// tolerance of its type (|actual - expected| <= atol + rtol * |expected|):
//   float32                  atol 1e-5,     rtol 5 * 2^-23
//   float32 in relaxed case  atol 5 * 2^-10, rtol 5 * 2^-10
//   float16                  atol 5 * 2^-10, rtol 5 * 2^-10
//   quantised                one unit
//   integer and bool         equal
// Infinities and NaN must be at the expected places. With a multinomial tolerance, the output
// [batches, samples] holds class numbers. The share of each class in the samples must then match
// the log-probabilities in input 0 [batches, classes] within the tolerance. Returns OP_FAILED
// otherwise, with the first difference, its place, and the number of differences. A case that
// expects failure has no right outputs: always OP_FAILED.
Status compare(const VectorCase& vectorCase, std::span<const ActualOutput> actual);

}  // namespace halyard::conformance
