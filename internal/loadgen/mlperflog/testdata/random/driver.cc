// driver CASES FOLDER runs the reference LoadGen with the settings of every line of CASES, in a process and a
// clock of its own each, and leaves what it logged and issued in FOLDER/<name>. The clock only moves when the SUT
// or the scheduler says so, so that every number is exact.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "loadgen.h"
#include "logging.h"
#include "query_sample.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"

using namespace mlperf;

static std::atomic<int64_t> clock_ns{int64_t(1e15)};
static thread_local int64_t ahead_ns = 0;  // how far in the future this thread answers

namespace mlperf {
namespace logging {
PerfClock::time_point PerfClock::now() { return time_point(std::chrono::nanoseconds(clock_ns + ahead_ns)); }
void PerfClock::sleep_until(time_point t) { clock_ns = std::max<int64_t>(clock_ns, t.time_since_epoch().count()); }
}  // namespace logging

static const std::string none = "none";
const std::string& LoadgenVersion() { return none; }
const std::string& LoadgenGitRevision() { return none; }
const std::string& LoadgenBuildDateLocal() { return none; }
const std::string& LoadgenBuildDateUtc() { return none; }
const std::string& LoadgenGitCommitDate() { return none; }
const std::string& LoadgenGitLog() { return none; }
const std::string& LoadgenGitStatus() {
  static const std::string clean;
  return clean;
}
const std::string& LoadgenSha1OfFiles() {
  static const std::string sums = "sum file";
  return sums;
}
}  // namespace mlperf

struct Case {
  std::map<std::string, std::string> args;
  double real(const char* key, double otherwise) const {
    auto i = args.find(key);
    return i == args.end() ? otherwise : strtod(i->second.c_str(), nullptr);
  }
  uint64_t whole(const char* key, uint64_t otherwise) const {
    auto i = args.find(key);
    return i == args.end() ? otherwise : strtoull(i->second.c_str(), nullptr, 10);
  }
};

struct QSL : QuerySampleLibrary {
  std::string name = "null QSL";
  size_t total, performance;
  const std::string& Name() override { return name; }
  size_t TotalSampleCount() override { return total; }
  size_t PerformanceSampleCount() override { return performance; }
  void LoadSamplesToRam(const std::vector<QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<QuerySampleIndex>&) override {}
};

static uint64_t mix(uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// A SUT whose samples take base to base + spread ns: one after another inside IssueQuery, or all at once.
struct SUT : SystemUnderTest {
  std::string name = "sleeping SUT";
  uint64_t base, spread, seed, samples = 0;
  bool parallel, tokens, first, waits;
  std::ofstream issued;
  const std::string& Name() override { return name; }
  void FlushQueries() override {}

  struct Answer {
    QuerySample sample;
    uint64_t hash;
    int64_t latency;
  };

  void IssueQuery(const std::vector<QuerySample>& query) override {
    std::vector<Answer> answers;
    issued << query.size() << ":";
    for (auto& s : query) {
      uint64_t hash = mix(seed + samples++);
      answers.push_back({s, hash, int64_t(base + (spread ? hash % spread : 0))});
      issued << s.index << ",";
    }
    issued << ";";
    if (parallel) {
      std::stable_sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) { return a.latency < b.latency; });
    }
    for (auto& a : answers) Complete(a);
    if (parallel && waits) clock_ns += answers.back().latency;
  }

  void Complete(const Answer& a) {
    uint8_t data[4] = {uint8_t(a.sample.index), uint8_t(a.sample.index >> 8), uint8_t(a.hash >> 8), uint8_t(a.hash >> 16)};
    QuerySampleResponse r{a.sample.id, (uintptr_t)data, a.hash % 5, tokens ? int64_t(2 + (a.hash >> 20) % 30) : 0};
    if (first) {
      Pass(a.latency / 2, a.latency / 2);
      FirstTokenComplete(&r, 1);
    }
    Pass(a.latency, first ? a.latency - a.latency / 2 : a.latency);
    QuerySamplesComplete(&r, 1);
    ahead_ns = 0;
  }

  void Pass(int64_t since_issue, int64_t since_last) {
    if (parallel) {
      ahead_ns = since_issue;
    } else {
      clock_ns += since_last;
    }
  }
};

static TestSettings Settings(const Case& c) {
  TestSettings s;
  s.scenario = TestScenario(c.whole("scenario", 0));
  s.mode = TestMode(c.whole("mode", 2));
  s.single_stream_expected_latency_ns = s.multi_stream_expected_latency_ns = c.real("expected_ns", 1e6);
  s.single_stream_target_latency_percentile = s.multi_stream_target_latency_percentile = s.server_target_latency_percentile =
      c.real("percentile", 0.9);
  s.multi_stream_samples_per_query = c.whole("per_query", 8);
  s.server_target_qps = s.offline_expected_qps = c.real("qps", 200);
  s.server_target_latency_ns = c.whole("limit_ns", 100000000);
  s.server_coalesce_queries = c.whole("coalesce", 0);
  s.server_max_async_queries = c.whole("max_async", 0);
  s.sample_concatenate_permutation = c.whole("equal", 0);
  s.min_duration_ms = c.whole("min_ms", 300);
  s.max_duration_ms = c.whole("max_ms", 0);
  s.min_query_count = c.whole("min_q", 100);
  s.max_query_count = c.whole("max_q", 0);
  s.qsl_rng_seed = c.whole("seed1", 0);
  s.sample_index_rng_seed = c.whole("seed2", 0);
  s.schedule_rng_seed = c.whole("seed3", 0);
  s.accuracy_log_rng_seed = c.whole("seed4", 0);
  s.accuracy_log_probability = c.real("log_p", 0);
  s.accuracy_log_sampling_target = c.whole("log_n", 0);
  s.test05 = c.whole("test05", 0);
  s.test05_qsl_rng_seed = 5;
  s.test05_sample_index_rng_seed = 6;
  s.test05_schedule_rng_seed = 7;
  s.performance_issue_unique = c.whole("unique", 0);
  s.performance_issue_same = c.whole("same", 0);
  s.performance_issue_same_index = c.whole("same_index", 0);
  s.performance_sample_count_override = c.whole("perf_override", 0);
  s.accuracy_sample_count_override = c.whole("acc_override", 0);
  s.use_token_latencies = c.whole("tokens", 0);
  s.server_ttft_latency = c.whole("ttft_ns", 100000000);
  s.server_tpot_latency = c.whole("tpot_ns", 100000000);
  s.infer_token_latencies = c.whole("infer", 0);
  s.token_latency_scaling_factor = c.whole("factor", 0);
  return s;
}

static void Run(const Case& c, const std::string& folder) {
  TestSettings s = Settings(c);
  QSL qsl;
  qsl.total = c.whole("total", 20);
  qsl.performance = c.whole("perf", 10);
  SUT sut;
  sut.base = c.whole("base_ns", 1000000);
  sut.spread = c.whole("spread_ns", 0);
  sut.seed = c.whole("sut_seed", 0);
  sut.parallel = c.whole("parallel", 0);
  sut.tokens = s.use_token_latencies;
  sut.first = sut.tokens && s.scenario != TestScenario::Offline;
  sut.waits = s.scenario == TestScenario::SingleStream || s.scenario == TestScenario::MultiStream;
  sut.issued.open(folder + "/issued.txt");
  LogSettings logs;
  logs.log_output.outdir = folder;
  logs.enable_trace = false;
  StartTest(&sut, &qsl, s, logs, "/nonexistent");
}

int main(int, char** argv) {
  std::ifstream cases(argv[1]);
  for (std::string line; std::getline(cases, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    Case c;
    for (std::string word; words >> word;) {
      auto i = word.find('=');
      c.args[word.substr(0, i)] = word.substr(i + 1);
    }
    std::string folder = std::string(argv[2]) + "/" + name;
    mkdir(folder.c_str(), 0755);
    pid_t child = fork();
    if (child == 0) {
      alarm(4);
      Run(c, folder);
      _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status) std::ofstream(folder + "/crashed") << status;
  }
}
