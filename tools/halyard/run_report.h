// Shows the outputs of one execution in a form that suits the model.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/session.h"
#include "halyard/driver/status.h"
#include "import/tflite/importer.h"
#include "measure/labels.h"
#include "media/image.h"

namespace halyard::cli {

struct ReportOptions {
  size_t top = 5;         // number of listed classes
  float minScore = 0.5f;  // of detections that are listed and drawn
};

struct ReportPicture {
  std::string name;  // of a file, without extension
  media::Image image;
};
struct Report {
  std::string text;  // whole lines
  std::vector<ReportPicture> pictures;
};

// Reports each output, or all together for a detector. `outputs` are those of an execution of
// `model`, in its order. `picture` is the input picture, if there is one.
//
//   detections    when the model ends in a detection post-processing: a list, and a picture
//   segmentation  for [1,H,W,C] with C > 1: shares of the classes, and a picture
//   class scores  for one dimension > 1 and all others 1: the best classes. It needs labels, a
//                 picture, an input with the shape of a picture, or values that are probabilities.
//                 Scores outside [0,1] are not probabilities; their softmax is shown beside them.
//   else          shape, least, greatest and mean value, and the values of a small output
Report describeOutputs(const import::ImportedModel& model, std::span<const client::Output> outputs,
                       measure::Labels labels, const std::optional<media::Image>& picture,
                       const ReportOptions& options);

}  // namespace halyard::cli
