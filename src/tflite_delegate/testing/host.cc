#include "tflite_delegate/testing/host.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "tflite_delegate/layout_check.h"
#include "tflite_delegate/malloc_array.h"

namespace halyard::tflite::testing {
namespace {

std::vector<int32_t> valuesOf(const IntArray& list) {
  return {list.values().begin(), list.values().end()};
}

}  // namespace

struct Host::Params {
  DelegateParams params = {};
};

struct Host::Kernel {
  std::unique_ptr<Params> params;
  LiteRegistration registration = {};
  LiteNode node = {};
};

Host::Host() {
  context_.implementation = this;
  context_.getExecutionPlan = getPlan;
  context_.getNode = getNode;
  context_.replaceNodes = replace;
  context_.previewPartitions = preview;
  context_.resizeTensor = resizeTensor;
  context_.reportError = reportError;
}

Host::~Host() {
  freeKernels();
  for (LiteTensor& tensor : tensors_) std::free(tensor.dims);
  for (void* list : lists_) std::free(list);
}

IntArray* Host::list(const std::vector<int32_t>& values) {
  IntArray* const made = MallocArray(values).release();
  lists_.push_back(made);
  return made;
}

int32_t Host::tensor(LiteType type, const std::vector<int32_t>& dims) {
  LiteTensor tensor = {};
  tensor.type = type;
  tensor.dims = MallocArray(dims).release();
  tensor.allocation = Allocation::ARENA;
  tensor.bytes = elementBytes(type);
  for (const int32_t dimension : dims) tensor.bytes *= static_cast<size_t>(dimension);
  tensor.bufferHandle = kNoBufferHandle;
  tensors_.push_back(tensor);
  memory_.emplace_back();
  context_.tensors = tensors_.data();
  context_.tensorCount = tensors_.size();
  return static_cast<int32_t>(tensors_.size() - 1);
}

int32_t Host::constant(LiteType type, const std::vector<int32_t>& dims, const void* data) {
  const int32_t index = tensor(type, dims);
  tensorAt(index).allocation = Allocation::CONSTANT;
  tensorAt(index).data = const_cast<void*>(data);
  return index;
}

int32_t Host::addNode(int32_t code, const std::vector<int32_t>& inputs,
                      const std::vector<int32_t>& outputs, std::vector<uint8_t> options) {
  LiteNode node = {};
  node.inputs = list(inputs);
  node.outputs = list(outputs);
  node.intermediates = list({});
  node.temporaries = list({});
  if (!options.empty()) node.builtinData = options_.emplace_back(std::move(options)).data();
  nodes_.push_back(node);
  LiteRegistration registration = {};
  registration.builtinCode = code;
  registration.version = 1;
  registrations_.push_back(registration);
  std::vector<int32_t> plan;
  for (size_t i = 0; i < nodes_.size(); ++i) plan.push_back(static_cast<int32_t>(i));
  plan_ = list(plan);
  return plan.back();
}

LiteStatus Host::getPlan(LiteContext* context, const IntArray** plan) {
  *plan = of(context).plan_;
  return LiteStatus::OK;
}

LiteStatus Host::getNode(LiteContext* context, int32_t index, LiteNode** node,
                         LiteRegistration** registration) {
  Host& host = of(context);
  *node = &host.nodes_[static_cast<size_t>(index)];
  *registration = &host.registrations_[static_cast<size_t>(index)];
  return LiteStatus::OK;
}

std::vector<std::vector<int32_t>> Host::runsOf(const IntArray& claimed) const {
  const std::vector<int32_t> nodes = valuesOf(claimed);
  std::vector<std::vector<int32_t>> runs;
  bool continues = false;
  for (int32_t node = 0; node < static_cast<int32_t>(nodes_.size()); ++node) {
    const bool isClaimed = std::ranges::find(nodes, node) != nodes.end();
    if (isClaimed && !continues) runs.emplace_back();
    if (isClaimed) runs.back().push_back(node);
    continues = isClaimed;
  }
  return runs;
}

std::unique_ptr<Host::Params> Host::paramsOf(const std::vector<int32_t>& nodes) {
  std::set<int32_t> read;
  std::set<int32_t> written;
  std::set<int32_t> readElsewhere;
  for (int32_t i = 0; i < static_cast<int32_t>(nodes_.size()); ++i) {
    const bool isInside = std::ranges::find(nodes, i) != nodes.end();
    for (const int32_t tensor : nodes_[static_cast<size_t>(i)].inputs->values()) {
      if (tensor != kOmittedTensor) (isInside ? read : readElsewhere).insert(tensor);
    }
    for (const int32_t tensor : nodes_[static_cast<size_t>(i)].outputs->values()) {
      if (isInside) written.insert(tensor);
    }
  }
  std::vector<int32_t> inputs;
  std::ranges::set_difference(read, written, std::back_inserter(inputs));
  std::vector<int32_t> outputs;
  for (const int32_t tensor : written) {
    // Tensors that nothing reads are the graph's outputs.
    if (readElsewhere.contains(tensor) || !read.contains(tensor)) outputs.push_back(tensor);
  }
  auto made = std::make_unique<Params>();
  made->params.nodes = list(nodes);
  made->params.inputs = list(inputs);
  made->params.outputs = list(outputs);
  return made;
}

LiteStatus Host::preview(LiteContext* context, const IntArray* nodes, DelegateParams** partitions,
                         int32_t* count) {
  Host& host = of(context);
  host.previewed_.clear();
  host.previewList_.clear();
  for (const std::vector<int32_t>& run : host.runsOf(*nodes)) {
    host.previewed_.push_back(host.paramsOf(run));
    host.previewList_.push_back(host.previewed_.back()->params);
  }
  *partitions = host.previewList_.data();
  *count = static_cast<int32_t>(host.previewList_.size());
  return LiteStatus::OK;
}

LiteStatus Host::replace(LiteContext* context, LiteRegistration registration, const IntArray* nodes,
                         LiteDelegate* delegate) {
  Host& host = of(context);
  for (const std::vector<int32_t>& run : host.runsOf(*nodes)) {
    auto kernel = std::make_unique<Kernel>();
    kernel->params = host.paramsOf(run);
    kernel->params->params.delegate = delegate;
    kernel->registration = registration;
    kernel->node.inputs = kernel->params->params.inputs;
    kernel->node.outputs = kernel->params->params.outputs;
    kernel->node.builtinData = &kernel->params->params;
    kernel->node.userData =
        registration.init(context, reinterpret_cast<const char*>(&kernel->params->params), 0);
    if (kernel->node.userData == reinterpret_cast<void*>(-1)) return LiteStatus::ERROR;
    host.kernels_.push_back(std::move(kernel));
  }
  return LiteStatus::OK;
}

LiteStatus Host::resizeTensor(LiteContext* context, LiteTensor* tensor, IntArray* dims) {
  const auto index = static_cast<int32_t>(tensor - context->tensors);
  of(context).resize(index, valuesOf(*dims));
  std::free(dims);
  return LiteStatus::OK;
}

void Host::reportError(LiteContext* context, const char* format, ...) {
  char text[2000];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  of(context).errors_ += text;
}

LiteStatus Host::apply(LiteDelegate* delegate) { return delegate->prepare(&context_, delegate); }

std::vector<std::vector<int32_t>> Host::partitions() const {
  std::vector<std::vector<int32_t>> result;
  for (const auto& kernel : kernels_) result.push_back(valuesOf(*kernel->params->params.nodes));
  return result;
}

LiteStatus Host::allocate() {
  for (const auto& kernel : kernels_) {
    const LiteStatus status = kernel->registration.prepare(&context_, &kernel->node);
    if (status != LiteStatus::OK) return status;
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].allocation == Allocation::CONSTANT) continue;
    memory_[i].resize(tensors_[i].bytes / sizeof(uint64_t) + 1);
    tensors_[i].data = memory_[i].data();
  }
  return LiteStatus::OK;
}

LiteStatus Host::invoke() {
  for (const auto& kernel : kernels_) {
    const LiteStatus status = kernel->registration.invoke(&context_, &kernel->node);
    if (status != LiteStatus::OK) return status;
  }
  return LiteStatus::OK;
}

void Host::resize(int32_t index, const std::vector<int32_t>& dims) {
  LiteTensor& tensor = tensorAt(index);
  std::free(tensor.dims);
  tensor.dims = MallocArray(dims).release();
  tensor.bytes = elementBytes(tensor.type);
  for (const int32_t dimension : dims) tensor.bytes *= static_cast<size_t>(dimension);
}

void Host::freeKernels() {
  for (const auto& kernel : kernels_) {
    kernel->registration.free(&context_, kernel->node.userData);
  }
  kernels_.clear();
}

}  // namespace halyard::tflite::testing
