// The two functions through which TensorFlow Lite loads the delegate from its library.
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "tflite_delegate/delegate.h"
#include "tflite_delegate/delegate_options.h"

using halyard::Result;
using halyard::Status;
using halyard::tflite::DelegateOptions;
using halyard::tflite::LiteDelegate;

namespace {

Result<LiteDelegate*> create(const char* const* keys, const char* const* values, size_t count) {
  std::vector<std::pair<std::string_view, std::string_view>> options;
  for (size_t i = 0; i < count; ++i) {
    if (keys == nullptr || values == nullptr || keys[i] == nullptr || values[i] == nullptr) {
      return halyard::badData("option #{} has no text", i);
    }
    options.emplace_back(keys[i], values[i]);
  }
  HALYARD_ASSIGN_OR_RETURN(const DelegateOptions parsed, halyard::tflite::parseOptions(options));
  return halyard::tflite::createDelegate(parsed);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// Returns null after a call of `reportError`, unless that is null.
LiteDelegate* tflite_plugin_create_delegate(const char* const* keys, const char* const* values,
                                            size_t count, void (*reportError)(const char*)) {
  std::string text;
  try {
    Result<LiteDelegate*> delegate = create(keys, values, count);
    if (delegate.ok()) return *delegate;
    text = delegate.status().toString();
  } catch (const std::exception& exception) {
    text = exception.what();
  }
  if (reportError != nullptr) reportError(("HalyardDelegate: " + text).c_str());
  return nullptr;
}

void tflite_plugin_destroy_delegate(LiteDelegate* delegate) {
  halyard::tflite::destroyDelegate(delegate);
}

}  // extern "C"
#pragma GCC visibility pop
