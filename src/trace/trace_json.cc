// The text is written without a library, because a trace may have a million slices.
#include "trace/trace_json.h"

#include <nlohmann/json.hpp>

namespace halyard::trace {
namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(uint64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

class Writer {
 public:
  std::string write(const Timeline& timeline) {
    text_ =
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"clock\":\"CLOCK_MONOTONIC\",\"version\":1";
    append(",\"begin_us\":{},\"end_us\":{},\"processes\":[", microseconds(timeline.begin),
           microseconds(timeline.end));
    const char* separator = "";
    for (const ProcessTimeline& process : timeline.processes) {
      size_t records = 0;
      for (const ThreadTimeline& thread : process.threads) records += thread.slices.size();
      append(
          "{}\n{{\"pid\":{},\"name\":{},\"driver\":{},\"records\":{},\"lost\":{},"
          "\"rejected\":{},\"cut\":{},\"problem\":{}}}",
          separator, process.processId, quoted(process.name), process.isDriver, records,
          process.lost, process.rejected, process.cut,
          process.status.ok() ? "null" : quoted(process.status.toString()));
      separator = ",";
    }
    text_ += "]},\n\"traceEvents\":[";
    for (const ProcessTimeline& process : timeline.processes) writeProcess(process);
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void beginEvent() {
    text_ += isFirst_ ? "\n" : ",\n";
    isFirst_ = false;
  }

  void writeProcess(const ProcessTimeline& process) {
    beginEvent();
    append("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}",
           process.processId, quoted(process.name));
    for (const ThreadTimeline& thread : process.threads) {
      beginEvent();
      append(
          "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}"
          "}",
          process.processId, thread.number, quoted(thread.name));
      for (const Slice& slice : thread.slices) writeSlice(process, thread, slice);
    }
  }

  void writeSlice(const ProcessTimeline& process, const ThreadTimeline& thread,
                  const Slice& slice) {
    beginEvent();
    Mark mark = slice.mark;
    mark.detail = sliceDetail(slice);
    append(
        "{{\"ph\":\"X\",\"name\":{},\"cat\":\"{},{}\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{}",
        quoted(markText(mark)), layerCode(slice.layer), phaseCode(slice.phase),
        microseconds(slice.begin), microseconds(slice.duration()), process.processId,
        thread.number);
    if (slice.operation >= 0) append(",\"args\":{{\"operation\":{}}}", slice.operation);
    text_ += "}";
  }

  std::string text_;
  bool isFirst_ = true;
};

}  // namespace

std::string traceJson(const Timeline& timeline) { return Writer().write(timeline); }

}  // namespace halyard::trace
