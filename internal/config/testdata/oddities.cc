// Reads files of settings, each after a line "length SPACE scenario NEWLINE", from stdin, and prints for each what
// TestSettings::FromConfig returned and what it made of some settings of the model m.
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include "test_settings.h"
int main() {
  size_t n;
  std::string scenario;
  while (std::cin >> n >> scenario) {
    std::cin.get();
    std::string text(n, '\0');
    std::cin.read(&text[0], n);
    char path[] = "/tmp/oddXXXXXX";
    int f = mkstemp(path);
    if (write(f, text.data(), n) != (ssize_t)n) return 1;
    close(f);
    mlperf::TestSettings s;
    int rc = s.FromConfig(path, "m", scenario, 2);
    unlink(path);
    printf("%d %llu %a %llu %a %a %llu\n", rc, (unsigned long long)s.min_query_count, s.offline_expected_qps,
           (unsigned long long)s.server_max_async_queries, s.server_target_latency_percentile, s.single_stream_expected_latency_ns / 1e6,
           (unsigned long long)s.min_duration_ms);
  }
}
namespace mlperf {
// What setup.py generates.
const std::string& None() { static const std::string s; return s; }
const std::string& LoadgenVersion() { return None(); }
const std::string& LoadgenGitRevision() { return None(); }
const std::string& LoadgenGitCommitDate() { return None(); }
const std::string& LoadgenGitStatus() { return None(); }
const std::string& LoadgenGitLog() { return None(); }
const std::string& LoadgenBuildDateLocal() { return None(); }
const std::string& LoadgenBuildDateUtc() { return None(); }
const std::string& LoadgenSha1OfFiles() { return None(); }
}  // namespace mlperf
