// golden COMMAND ARGUMENT… prints what libstdc++ draws and what the reference LoadGen does: see main. make_golden.py builds it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "early_stopping.h"
#include "loadgen.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"

namespace mlperf {
static const std::string none = "none";
const std::string& LoadgenVersion() { return none; }
const std::string& LoadgenGitRevision() { return none; }
const std::string& LoadgenBuildDateLocal() { return none; }
const std::string& LoadgenBuildDateUtc() { return none; }
const std::string& LoadgenGitCommitDate() { return none; }
const std::string& LoadgenGitLog() { return none; }
const std::string& LoadgenGitStatus() { return none; }
const std::string& LoadgenSha1OfFiles() {
  static const std::string sums = "sum file";
  return sums;
}
}  // namespace mlperf

using namespace mlperf;

static const std::string name = "golden";

// A Library prints what LoadGen loads.
struct Library : QuerySampleLibrary {
  size_t total, performance;
  const std::string& Name() override { return name; }
  size_t TotalSampleCount() override { return total; }
  size_t PerformanceSampleCount() override { return performance; }
  void LoadSamplesToRam(const std::vector<QuerySampleIndex>& set) override {
    printf("load");
    for (auto i : set) printf(" %zu", size_t(i));
    printf("\n");
  }
  void UnloadSamplesFromRam(const std::vector<QuerySampleIndex>&) override {}
};

// A System keeps what LoadGen issues, and answers at once.
struct System : SystemUnderTest {
  std::vector<std::vector<size_t>> queries;
  const std::string& Name() override { return name; }
  void FlushQueries() override {}
  void IssueQuery(const std::vector<QuerySample>& samples) override {
    std::vector<size_t> indices;
    std::vector<QuerySampleResponse> responses;
    for (const auto& s : samples) {
      indices.push_back(s.index);
      responses.push_back({s.id, 0, 0});
    }
    queries.push_back(indices);
    QuerySamplesComplete(responses.data(), responses.size());
  }
};

// test FOLDER KEY=VALUE…: one test, whose logs go into FOLDER.
static void test(int n, char** args) {
  TestSettings s;
  Library qsl;
  std::map<std::string, std::string> given;
  for (int i = 1; i < n; i++) {
    std::string arg = args[i];
    given[arg.substr(0, arg.find('='))] = arg.substr(arg.find('=') + 1);
  }
  auto whole = [&](const char* key, uint64_t otherwise) { return given.count(key) ? strtoull(given[key].c_str(), nullptr, 10) : otherwise; };
  const std::map<std::string, TestScenario> scenarios = {{"SingleStream", TestScenario::SingleStream}, {"MultiStream", TestScenario::MultiStream},
                                                         {"Server", TestScenario::Server}, {"Offline", TestScenario::Offline}};
  const std::map<std::string, TestMode> modes = {{"SubmissionRun", TestMode::SubmissionRun}, {"AccuracyOnly", TestMode::AccuracyOnly}, {"PerformanceOnly", TestMode::PerformanceOnly}};
  s.scenario = scenarios.at(given["scenario"]);
  s.mode = modes.at(given["mode"]);
  if (given.count("target_qps")) {
    double qps = strtod(given["target_qps"].c_str(), nullptr);
    s.server_target_qps = s.offline_expected_qps = qps;
    s.single_stream_expected_latency_ns = s.multi_stream_expected_latency_ns = uint64_t(1e9 / qps);
  }
  s.min_duration_ms = whole("min_duration_ms", 0);
  s.min_query_count = whole("min_query_count", s.min_query_count);
  s.max_query_count = whole("max_query_count", 0);
  s.multi_stream_samples_per_query = whole("samples_per_query", s.multi_stream_samples_per_query);
  s.sample_concatenate_permutation = whole("permutation", 0);
  s.performance_issue_unique = whole("unique", 0);
  s.performance_issue_same = whole("same", 0);
  s.performance_issue_same_index = whole("same_index", 0);
  s.qsl_rng_seed = whole("qsl_seed", 0);
  s.sample_index_rng_seed = whole("sample_seed", 0);
  s.schedule_rng_seed = whole("schedule_seed", 0);
  qsl.total = whole("total", 0);
  qsl.performance = whole("perf", 0);
  LogSettings log;
  log.log_output.outdir = args[0];
  log.enable_trace = false;
  System sut;
  StartTest(&sut, &qsl, s, log);
  for (const auto& query : sut.queries) {
    printf("query");
    for (auto i : query) printf(" %zu", i);
    printf("\n");
  }
}

int main(int argc, char** argv) {
  std::string command = argv[1];
  auto whole = [&](int i) { return strtoull(argv[i], nullptr, 10); };
  auto real = [&](int i) { return strtod(argv[i], nullptr); };
  if (command == "test") {
    test(argc - 2, argv + 2);
    return 0;
  }
  if (command == "passing" || command == "rank") {
    loadgen::MinPassingQueriesFinder find;
    if (command == "passing") {  // PERCENTILE OVER: how many queries below the limit make up for so many above it
      printf("%lld\n", (long long)find(whole(3), real(2), 0, 0.99));
      return 0;
    }
    int64_t n = whole(3), t = 1, least = find(1, real(2), 0, 0.99) + 1;  // rank PERCENTILE QUERIES: as in results.cc
    if (n < least) {
      printf("0 %lld\n", (long long)least);
      return 0;
    }
    for (int64_t i = 2; i < n + 1; ++i) {
      if (n < find(i, real(2), 0, 0.99) + i) {
        t = i - 1;
        break;
      }
    }
    printf("1 %lld\n", (long long)t);
    return 0;
  }
  std::mt19937 g(whole(2));  // all others begin with a seed
  if (command == "raw") {    // COUNT
    for (uint64_t i = 0; i < whole(3); i++) printf("%u\n", unsigned(g()));
  } else if (command == "uniform") {  // N COUNT: numbers below N, then the next raw one
    std::uniform_int_distribution<> d(0, int(whole(3)) - 1);
    for (uint64_t i = 0; i < whole(4); i++) printf("%d\n", d(g));
    printf("%u\n", unsigned(g()));
  } else if (command == "real") {  // COUNT
    std::uniform_real_distribution<double> d(0, 1);
    for (uint64_t i = 0; i < whole(3); i++) printf("%a\n", d(g));
  } else if (command == "shuffle") {  // N TIMES: the list 0…N-1 after each, then the next raw number
    std::vector<uint64_t> s(whole(3));
    std::iota(s.begin(), s.end(), 0);
    for (uint64_t i = 0; i < whole(4); i++) {
      std::shuffle(s.begin(), s.end(), g);
      for (auto x : s) printf("%llu\n", (unsigned long long)x);
    }
    printf("%u\n", unsigned(g()));
  } else if (command == "gaps") {  // QPS COUNT: the times between queries of Server, and what they are in ns
    std::exponential_distribution<> d(real(3));
    for (uint64_t i = 0; i < whole(4); i++) {
      double gap = d(g);
      printf("%a %lld\n", gap, (long long)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(gap)).count());
    }
  } else {
    fprintf(stderr, "unknown command %s\n", argv[1]);
    return 2;
  }
}
