// Package config turns configuration files, environment and flags into TestSettings,
// and keeps the origin of every setting.
//
// # Files of settings
//
// mlperf.conf holds the settings of a round of rules, user.conf those of a submitter,
// audit.config those of a compliance test. All have the grammar of the reference
// LoadGen (loadgen/test_settings_internal.cc, FromConfig):
//
//	# a comment on a line of its own
//	resnet50.Server.target_qps = 250.5
//	*.*.min_duration           = 600000
//
// A setting is looked up for the exact model and scenario, then for any model, then
// for any scenario, then for both. Where the reference ignores a mistake, ParseConf
// reports it with the file and the line: unknown keys and scenarios, values of the wrong
// kind, a key given twice with different values.
//
// # Who overrides whom
//
// LoadGen's defaults, the rule set, user.conf, flags, audit.config: the later wins
// (Resolve). Flags themselves stand for the command line, the environment and
// mlperf.yaml, which MergeOptions joins.
//
//	rules, err := config.Rules("v5.1")
//	…
//	user, err := config.ReadConf("user.conf", config.ParseOptions{})
//	…
//	resolved, err := config.Resolve(config.Request{
//		Model: config.Model{Name: "resnet50"}, Scenario: loadgen.Server, Rules: rules, UserConf: user,
//	})
//	fmt.Println(resolved.Settings.ServerTargetQPS, resolved.Origin("target_qps"))
//
// # Files of the package
//
// conf.go parses files of settings, and value.go their values; the keys are those of the
// table of package loadgen. options.go joins flags, environment and mlperf.yaml, resolve.go
// makes the settings. rules.go has the rule sets of the rounds from v0.5 on (package rounds has
// what they ask of each benchmark), differences.go compares settings with the rules.
// plan.go computes before a run how many queries it needs, how long it takes, and which
// network a datacenter system must have; quick.go has the settings of a quick run.
package config
