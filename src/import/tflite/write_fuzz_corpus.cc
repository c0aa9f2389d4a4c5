// Writes the sample models into a folder, as seeds for the fuzzer.
#include <cstdio>
#include <fstream>
#include <string>

#include "import/tflite/sample_models.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_fuzz_corpus FOLDER\n");
    return 2;
  }
  for (const halyard::import::Sample& sample : halyard::import::sampleModels()) {
    const std::vector<uint8_t> bytes = sample.model.bytes();
    const std::string path = std::string(argv[1]) + "/" + sample.name + ".tflite";
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "write_fuzz_corpus: %s cannot be written\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
