// A peer for `mlperf selftest --all --peer` (docs/loadgen.md): the reference LoadGen with a
// system under test that answers at once. It calls the public API of loadgen only.
//
// Build, with the reference checked out and built in $REF/loadgen:
//
//	g++ -O3 -std=c++14 -I$REF/loadgen selftest.cc -o peer $REF/loadgen/build/libmlperf_loadgen.a -lpthread
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "loadgen.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"

namespace {

using Clock = std::chrono::steady_clock;

int64_t Nanoseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

// Flags are those of mlperf selftest; all have values but --json and --accuracy.
std::map<std::string, std::string> ParseFlags(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i < argc; i++) {
    std::string name = argv[i];
    if (name == "--json" || name == "--accuracy" || name == "selftest") {
      flags[name] = "1";
    } else if (i + 1 < argc) {
      flags[name] = argv[++i];
    }
  }
  return flags;
}

// Seconds reads a duration such as 2s or 700ms.
double Seconds(const std::string& text) {
  return std::atof(text.c_str()) * (text.find("ms") == std::string::npos ? 1 : 1e-3);
}

class NullQsl : public mlperf::QuerySampleLibrary {
 public:
  NullQsl(size_t total) : total_(total) {}
  const std::string& Name() override { return name_; }
  size_t TotalSampleCount() override { return total_; }
  size_t PerformanceSampleCount() override { return total_; }
  void LoadSamplesToRam(const std::vector<mlperf::QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<mlperf::QuerySampleIndex>&) override {}

 private:
  std::string name_ = "null QSL";
  size_t total_;
};

class NullSut : public mlperf::SystemUnderTest {
 public:
  // Responses are made before the clock starts. Their data are label, if that is not null.
  NullSut(size_t responses, uint32_t* label) : responses_(responses) {
    for (auto& r : responses_) {
      r = {0, label ? reinterpret_cast<uintptr_t>(label) : 0, label ? sizeof(*label) : 0};
    }
  }
  const std::string& Name() override { return name_; }
  void IssueQuery(const std::vector<mlperf::QuerySample>& samples) override {
    if (begun_ == Clock::time_point()) begun_ = Clock::now();
    for (size_t done = 0; done < samples.size();) {
      size_t n = std::min(samples.size() - done, responses_.size());
      for (size_t i = 0; i < n; i++) responses_[i].id = samples[done + i].id;
      ended_ = Clock::now();
      mlperf::QuerySamplesComplete(responses_.data(), n);
      done += n;
    }
  }
  void FlushQueries() override {}

  Clock::time_point begun_, ended_;

 private:
  std::string name_ = "null SUT";
  std::vector<mlperf::QuerySampleResponse> responses_;
};

// Numbers reads the numbers of a detail log.
std::map<std::string, double> Numbers(const std::string& path) {
  std::map<std::string, double> numbers;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    auto key = line.find("\"key\": \""), value = line.find("\"value\": ");
    if (key == std::string::npos || value == std::string::npos) continue;
    key += 8;
    numbers[line.substr(key, line.find('"', key) - key)] = std::atof(line.c_str() + value + 9);
  }
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  auto flags = ParseFlags(argc, argv);
  const std::string scenario = flags["--scenario"], dir = flags["--output"].empty() ? "." : flags["--output"];
  const double qps = std::atof(flags["--target-qps"].c_str()), seconds = Seconds(flags["--duration"]);
  const bool accuracy = flags.count("--accuracy") > 0;
  const size_t all = std::max<size_t>(1, qps * seconds);
  const long long asked = std::atoll(flags["--responses"].c_str());
  const size_t responses = asked > 0 ? asked : asked < 0 && (accuracy || scenario == "Offline") ? all : 256;

  mlperf::TestSettings s;
  s.mode = accuracy ? mlperf::TestMode::AccuracyOnly : mlperf::TestMode::PerformanceOnly;
  s.min_duration_ms = seconds * 1000;
  s.min_query_count = 1;
  if (scenario == "SingleStream") {
    s.scenario = mlperf::TestScenario::SingleStream;
    s.single_stream_expected_latency_ns = 1e9 / qps;
  } else if (scenario == "MultiStream") {
    s.scenario = mlperf::TestScenario::MultiStream;
    s.multi_stream_expected_latency_ns = 1e9 / qps;
  } else if (scenario == "Server") {
    s.scenario = mlperf::TestScenario::Server;
    s.server_target_qps = qps;
  } else if (scenario == "Offline") {
    s.scenario = mlperf::TestScenario::Offline;
    s.offline_expected_qps = qps;
    s.min_query_count = all;
    s.min_duration_ms = 0;
  } else {
    std::fprintf(stderr, "unknown scenario %s\n", scenario.c_str());
    return 2;
  }

  uint32_t label = 7;
  NullQsl qsl(accuracy ? all : 1024);
  NullSut sut(responses, accuracy ? &label : nullptr);
  mlperf::LogSettings log;
  log.log_output.outdir = dir;
  log.log_output.copy_summary_to_stdout = false;
  log.enable_trace = false;
  mlperf::StartTest(&sut, &qsl, s, log, "");
  const auto ended = Clock::now();

  auto n = Numbers(dir + "/mlperf_log_detail.txt");
  const double duration = Nanoseconds(sut.ended_ - sut.begun_);
  const double queries = accuracy || scenario == "Offline" ? all : n["result_query_count"];
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"scenario\":\"%s\",\"queries\":%.0f,\"duration_ns\":%.0f,\"issued_qps\":%g,\"latency_mean_ns\":%.0f,"
              "\"latency_p50_ns\":%.0f,\"latency_p99_ns\":%.0f,\"post_run_ns\":%lld,\"peak_rss_bytes\":%lld}\n",
              scenario.c_str(), queries, duration, queries / duration * 1e9, n["result_mean_latency_ns"],
              n["result_50.00_percentile_latency_ns"], n["result_99.00_percentile_latency_ns"],
              static_cast<long long>(Nanoseconds(ended - sut.ended_)), static_cast<long long>(usage.ru_maxrss) * 1024);
}
