// Host: a small interpreter with TensorFlow Lite's layouts, for tests of the delegate.
//
// It divides a plan into runs of consecutive nodes that the delegate claims. It computes no node
// itself: tests look at what the delegate takes.
// Thread safety: none; a value of one test. Ownership: owns tensors, nodes and their memory.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tflite_delegate/abi.h"

namespace halyard::tflite::testing {

class Host {
 public:
  Host();
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Both return the new index. A constant's bytes must outlive the host.
  int32_t tensor(LiteType type, const std::vector<int32_t>& dims);
  int32_t constant(LiteType type, const std::vector<int32_t>& dims, const void* data);
  // -1 is a dimension whose size the file does not tell.
  void setSignature(int32_t tensor, const std::vector<int32_t>& signature) {
    tensorAt(tensor).dimsSignature = list(signature);
  }
  void quantize(int32_t tensor, float scale, int32_t zeroPoint);
  // `options`: the structure of the operator.
  template <typename Options>
  int32_t node(int32_t code, const std::vector<int32_t>& inputs,
               const std::vector<int32_t>& outputs, const Options& options) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&options);
    return addNode(code, inputs, outputs, std::vector<uint8_t>(bytes, bytes + sizeof(Options)));
  }
  int32_t node(int32_t code, const std::vector<int32_t>& inputs,
               const std::vector<int32_t>& outputs) {
    return addNode(code, inputs, outputs, {});
  }
  LiteTensor& tensorAt(int32_t index) { return tensors_[static_cast<size_t>(index)]; }

  // As SetAllowFp16PrecisionForFp32 of an interpreter.
  void allowFloat16() { context_.allowsFloat16 = true; }
  LiteStatus apply(LiteDelegate* delegate);
  // The lists of original nodes that the delegate computes.
  std::vector<std::vector<int32_t>> partitions() const;
  // Gives all tensors memory, after the kernels have prepared.
  LiteStatus allocate();
  LiteStatus invoke();
  void resize(int32_t tensor, const std::vector<int32_t>& dims);
  // Frees the kernels, as the destructor does.
  void freeKernels();
  template <typename T>
  T* data(int32_t tensor) {
    return static_cast<T*>(tensorAt(tensor).data);
  }
  // A list for a structure of the interpreter, which the host frees.
  IntArray* intList(const std::vector<int32_t>& values) { return list(values); }
  // The texts that the delegate has reported.
  const std::string& errors() const { return errors_; }

 private:
  struct Kernel;
  struct Params;

  int32_t addNode(int32_t code, const std::vector<int32_t>& inputs,
                  const std::vector<int32_t>& outputs, std::vector<uint8_t> options);
  IntArray* list(const std::vector<int32_t>& values);
  std::unique_ptr<Params> paramsOf(const std::vector<int32_t>& nodes);
  std::vector<std::vector<int32_t>> runsOf(const IntArray& claimed) const;
  static Host& of(LiteContext* context) { return *static_cast<Host*>(context->implementation); }
  static LiteStatus getPlan(LiteContext*, const IntArray** plan);
  static LiteStatus getNode(LiteContext*, int32_t, LiteNode**, LiteRegistration**);
  static LiteStatus replace(LiteContext*, LiteRegistration, const IntArray*, LiteDelegate*);
  static LiteStatus preview(LiteContext*, const IntArray*, DelegateParams**, int32_t*);
  static LiteStatus resizeTensor(LiteContext*, LiteTensor*, IntArray*);
  static void reportError(LiteContext*, const char*, ...);

  LiteContext context_ = {};
  std::vector<LiteTensor> tensors_;
  std::vector<LiteNode> nodes_;
  std::vector<LiteRegistration> registrations_;
  std::deque<std::vector<uint8_t>> options_;
  std::deque<AffineQuantization> quantizations_;
  std::vector<void*> lists_;
  std::vector<std::vector<uint64_t>> memory_;  // by tensor
  std::vector<std::unique_ptr<Params>> previewed_;
  std::vector<DelegateParams> previewList_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  IntArray* plan_ = nullptr;
  std::string errors_;
};

}  // namespace halyard::tflite::testing
