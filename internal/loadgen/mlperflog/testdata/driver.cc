// driver CASES FOLDER runs a version of the reference LoadGen with the settings of every line of CASES, in a process
// of its own each, and leaves its logs in FOLDER/<name>. LOADGEN is ten times the version's number.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "loadgen.h"
#include "query_sample.h"
#include "query_sample_library.h"
#include "system_under_test.h"
#include "test_settings.h"

#if LOADGEN >= 40
#define NAME const std::string& Name() override
#else
#define NAME const std::string& Name() const override
#endif

using namespace mlperf;

// Stand-ins for what is of a build, among them a git status of which LoadGen complains.
namespace mlperf {
#define TEXT(function, text)      \
  const std::string& function() { \
    static const std::string s(text); \
    return s;                     \
  }
TEXT(LoadgenVersion, LOADGEN == 60 ? "6.0.17" : "OLDVER")
TEXT(LoadgenGitRevision, LOADGEN == 60 ? "NA" : "0123456789")
TEXT(LoadgenBuildDateLocal, "2020-09-01T12:00:00.000000")
TEXT(LoadgenBuildDateUtc, "2020-09-01T10:00:00.000000")
TEXT(LoadgenGitCommitDate, LOADGEN == 60 ? "NA" : "2020-09-01T09:00:00+02:00")
TEXT(LoadgenGitLog, LOADGEN == 60 ? "NA" : "commit 0123456789\nAuthor: \"A. Nonymous\"\n\n    a message\n")
TEXT(LoadgenGitStatus, LOADGEN == 60 ? "NA" : "On branch test\nnothing to commit, working tree clean\n")
TEXT(LoadgenSha1OfFiles, "012aad77e5206c89d50718c46c119d1f3cb056b2 /a.cc\n112aad77e5206c89d50718c46c119d1f3cb056b2 /b.cc")
}  // namespace mlperf

struct Case {
  std::map<std::string, std::string> args;
  double operator()(const char* key, double otherwise) const {
    auto i = args.find(key);
    return i == args.end() ? otherwise : strtod(i->second.c_str(), nullptr);
  }
};

struct QSL : QuerySampleLibrary {
  std::string name = "null QSL";
  NAME { return name; }
  size_t TotalSampleCount() override { return 20; }
  size_t PerformanceSampleCount() override { return 10; }
  void LoadSamplesToRam(const std::vector<QuerySampleIndex>&) override {}
  void UnloadSamplesFromRam(const std::vector<QuerySampleIndex>&) override {}
};

// A SUT that sleeps inside IssueQuery. With tokens, the first comes after half of the time.
struct SUT : SystemUnderTest {
  std::string name = "sleeping SUT";
  std::chrono::nanoseconds nap;
  bool tokens = false, first = false;
  NAME { return name; }
  void FlushQueries() override {}
#if LOADGEN < 40
  void ReportLatencyResults(const std::vector<QuerySampleLatency>&) override {}
#endif

  void IssueQuery(const std::vector<QuerySample>& query) override {
    std::vector<int32_t> answers;
    for (auto& s : query) answers.push_back(s.index);
    std::vector<QuerySampleResponse> responses;
    for (size_t i = 0; i < query.size(); i++) {
      QuerySampleResponse r{query[i].id, (uintptr_t)&answers[i], sizeof(int32_t)};
#if LOADGEN >= 40
      r.n_tokens = tokens ? 10 : 0;
#endif
      responses.push_back(r);
    }
    auto half = first ? nap / 2 : nap;
    std::this_thread::sleep_for(half);
#if LOADGEN >= 40
    if (first) {
      FirstTokenComplete(responses.data(), responses.size());
      std::this_thread::sleep_for(nap - half);
    }
#endif
    QuerySamplesComplete(responses.data(), responses.size());
  }
};

static TestSettings Settings(const Case& c) {
  const char* scenarios[] = {"SingleStream", "MultiStream", "Server", "Offline"};
  TestSettings s;
  for (int i = 0; i < 4; i++) {
    if (c.args.at("scenario") == scenarios[i]) s.scenario = TestScenario(LOADGEN < 20 && i > 1 ? i + 1 : i);  // MultiStreamFree was 2
  }
  s.mode = TestMode(int(c("mode", 2)));
  s.single_stream_expected_latency_ns = c("latency_ns", 1e6);
  s.server_target_qps = s.offline_expected_qps = c("qps", 200);
  s.server_target_latency_ns = c("limit_ns", 1e8);
  s.min_duration_ms = c("min_ms", 300);
  s.min_query_count = c("min_q", 100);
  s.max_query_count = c("max_q", 0);
  s.qsl_rng_seed = 1;
  s.sample_index_rng_seed = 2;
  s.schedule_rng_seed = 3;
  s.accuracy_log_probability = c("log_p", 0);
  s.print_timestamps = c("print", 0);
#if LOADGEN >= 60
  s.accuracy_log_rng_seed = 4;
  s.multi_stream_expected_latency_ns = c("latency_ns", 1e6);
  s.sample_concatenate_permutation = c("equal", 0);
  s.use_token_latencies = c("tokens", 0);
  s.server_ttft_latency = c("ttft_ns", 1e8);
  s.server_tpot_latency = c("tpot_ns", 1e8);
  s.infer_token_latencies = c("infer", 0);
  s.token_latency_scaling_factor = c("factor", 0);
#endif
#if LOADGEN < 20
  s.multi_stream_target_qps = 100;
  s.multi_stream_target_latency_ns = 10000000;
  s.multi_stream_samples_per_query = 4;
#endif
  return s;
}

static void Run(const Case& c, const std::string& folder) {
  TestSettings s = Settings(c);
  QSL qsl;
  SUT sut;
  sut.nap = std::chrono::microseconds(int64_t(c("sleep_us", 1000)));
  sut.tokens = c("tokens", 0);
  sut.first = sut.tokens && s.scenario != TestScenario::Offline;
  LogSettings logs;
  logs.log_output.outdir = folder;
  logs.enable_trace = false;
  StartTest(&sut, &qsl, s, logs);
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
      Run(c, folder);
      _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    if (status) return 1;
  }
}
