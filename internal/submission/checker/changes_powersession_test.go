package checker

import (
	"strconv"
	"strings"
)

// scenarioChanges give power to results of other scenarios than Offline.
var scenarioChanges = []change{
	{"v6.1 power of SingleStream", func(e *edit) { power(e, "SingleStream", func(*powered) {}) }},
	{"v6.1 power of MultiStream", func(e *edit) { power(e, "MultiStream", func(*powered) {}) }},
	{"v6.1 power of MultiStream inferred", func(e *edit) { e.copy("R/SingleStream", "R/MultiStream"); power(e, "MultiStream", func(*powered) {}) }},
	{"v6.1 power of SingleStream without queries", func(e *edit) {
		power(e, "SingleStream", func(p *powered) { p.set(perf(openBench("resnet50/SingleStream")), "result_query_count", "0") })
	}},
	{"v6.1 power of SingleStream, queries missing", func(e *edit) {
		power(e, "SingleStream", func(p *powered) { p.drop(perf(openBench("resnet50/SingleStream")), "result_query_count") })
	}},
}

// powerChanges are made to the files of results with power.
var powerChanges = []change{
	{"v6.1 power", offline(func(*powered) {})},

	{"v6.1 power without its log of the client", written(func(p *powered) { p.remove(p.folder + "/power/client.log") })},
	{"v6.1 power with one file more", written(func(p *powered) { p.write(p.folder+"/power/notes.txt", "x") })},
	{"v6.1 power with a trace", written(func(p *powered) { p.write(p.folder+"/ranging/mlperf_log_trace.json", "x") })},
	{"v6.1 power with an accuracy log", written(func(p *powered) { p.write(p.folder+"/ranging/mlperf_log_accuracy.json", "x") })},
	{"v6.1 power without ranging", written(func(p *powered) { p.remove(p.folder + "/ranging") })},
	{"v6.1 power without a summary of ranging", written(func(p *powered) { p.remove(p.folder + "/ranging/mlperf_log_summary.txt") })},
	{"v6.1 power without samples of the run", written(func(p *powered) { p.remove(p.folder + "/run_1/spl.txt") })},
	{"v6.1 power is a file", written(func(p *powered) { p.remove(p.folder + "/power"); p.write(p.folder+"/power", "x") })},
	{"v6.1 power is an empty folder", written(func(p *powered) { p.remove(p.folder + "/power"); p.mkdir(p.folder + "/power") })},

	{"v6.1 power, client cut", written(func(p *powered) { p.write(p.folder+"/power/client.json", "{") })},
	{"v6.1 power, client a list", written(func(p *powered) { p.write(p.folder+"/power/client.json", "[]") })},
	{"v6.1 power, server not UTF-8", written(func(p *powered) { p.write(p.folder+"/power/server.json", "\xff") })},
	{"v6.1 power, client without modules", offline(func(p *powered) { delete(p.client, "modules") })},
	{"v6.1 power, server without a timezone", offline(func(p *powered) { delete(p.server, "timezone") })},
	{"v6.1 power, timezone in words", offline(func(p *powered) { p.server["timezone"] = "UTC" })},
	{"v6.1 power, timezone a text", offline(func(p *powered) { p.server["timezone"] = "3600" })},
	{"v6.1 power, timezone of the client null", offline(func(p *powered) { p.client["timezone"] = nil })},
	{"v6.1 power, sources changed", offline(func(p *powered) { p.client["sources"].(map[string]string)["client.py"] = "0" })},
	{"v6.1 power, sources of the server changed", offline(func(p *powered) { delete(p.server["sources"].(map[string]string), "client.py") })},
	{"v6.1 power, one source more", offline(func(p *powered) { p.server["sources"].(map[string]string)["x.py"] = "0" })},
	{"v6.1 power, sources a list", offline(func(p *powered) { p.server["sources"] = []any{} })},
	{"v6.1 power, debug", offline(func(p *powered) { p.server["debug"] = true })},
	{"v6.1 power, debug false", offline(func(p *powered) { p.server["debug"] = false })},
	{"v6.1 power, debug 0", offline(func(p *powered) { p.server["debug"] = 0 })},
	{"v6.1 power, debug of the client", offline(func(p *powered) { p.client["debug"] = true })},

	{"v6.1 power, sessions of two names", offline(func(p *powered) { p.client["session_name"] = "other" })},
	{"v6.1 power, session of another mark", offline(func(p *powered) { p.both("session_name", "other") })},
	{"v6.1 power, UUID of another server", offline(func(p *powered) { uuids(p)["server"] = "0f8fad5b-d9cb-469f-a165-70867728950f" })},
	{"v6.1 power, UUID of another client", offline(func(p *powered) { uuids(p)["client"] = "0f8fad5b-d9cb-469f-a165-70867728950f" })},
	{"v6.1 power, UUID in capitals and braces", offline(func(p *powered) { uuids(p)["server"] = "{0F8FAD5B-D9CB-469F-A165-70867728950E}" })},
	{"v6.1 power, UUID as a URN", offline(func(p *powered) { uuids(p)["client"] = "urn:uuid:c3b1a9be58d84ac88b0f2d1f7a4b9a10" })},
	{"v6.1 power, UUID too short", offline(func(p *powered) { uuids(p)["client"] = "c3b1" })},
	{"v6.1 power, UUID missing", offline(func(p *powered) { delete(uuids(p), "client") })},
	{"v6.1 power, UUID a number", offline(func(p *powered) { uuids(p)["client"] = 1 })},

	{"v6.1 power, clocks 0.75 s apart", offline(func(p *powered) { p.phase(p.client, "ranging", 0, 0.75) })},
	{"v6.1 power, clocks 0.75 s apart the other way", offline(func(p *powered) { p.phase(p.client, "testing", 3, -0.75) })},
	{"v6.1 power, clocks 0.8125 s apart", offline(func(p *powered) { p.phase(p.server, "ranging", 3, 0.8125) })},
	{"v6.1 power, clocks 0.8125 s apart in the run", offline(func(p *powered) { p.phase(p.client, "testing", 0, 0.8125) })},
	{"v6.1 power, one phase less", offline(func(p *powered) { dropPhase(p.client, "testing") })},
	{"v6.1 power, one phase less on both sides", offline(func(p *powered) { dropPhase(p.client, "testing"); dropPhase(p.server, "testing") })},
	{"v6.1 power, two phases less on both sides", offline(func(p *powered) {
		for range 2 {
			dropPhase(p.client, "ranging")
			dropPhase(p.server, "ranging")
		}
	})},
	{"v6.1 power, phases missing", offline(func(p *powered) { delete(p.server["phases"].(object), "testing") })},
	{"v6.1 power, a phase a text", offline(func(p *powered) { p.client["phases"].(object)["testing"].([]any)[3].([]any)[0] = "x" })},
	{"v6.1 power, a run that began before its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, 10.5) })},
	{"v6.1 power, a run that ended after its phase", offline(func(p *powered) { shiftPhase(p, "testing", 2, -10.5) })},
	{"v6.1 power, ranging that ended after its phase", offline(func(p *powered) { shiftPhase(p, "ranging", 2, -10.5) })},
	{"v6.1 power, a run an hour after its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, -3600); shiftPhase(p, "testing", 2, -3600) })},
	{"v6.1 power, a run two hours after its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, -7200); shiftPhase(p, "testing", 2, -7200) })},
	{"v6.1 power, a run an hour before its phase", offline(func(p *powered) { shiftPhase(p, "testing", 1, 3600); shiftPhase(p, "testing", 2, 3600) })},
	{"v6.1 power, ranging without its end", offline(func(p *powered) { p.drop(p.folder+"/ranging/mlperf_log_detail.txt", "power_end") })},
	{"v6.1 power, ranging whose end is no time", offline(func(p *powered) { p.set(p.folder+"/ranging/mlperf_log_detail.txt", "power_end", `"soon"`) })},
	{"v6.1 power, ranging that took no time", offline(func(p *powered) {
		p.set(p.folder+"/ranging/mlperf_log_detail.txt", "power_end", strconv.Quote(stamp(p.begin)))
	})},
	{"v6.1 power, ranging with POWER_END in a comment", offline(func(p *powered) {
		path := p.folder + "/ranging/mlperf_log_detail.txt"
		p.write(path, p.read(path)+"# POWER_END at noon\n")
	})},
	{"v6.1 power, ranging with POWER_BEGIN in a comment first", offline(func(p *powered) {
		path := p.folder + "/ranging/mlperf_log_detail.txt"
		p.write(path, "# POWER_BEGIN at noon\n"+p.read(path))
	})},
	{"v6.1 power, a run whose begin is no time", offline(func(p *powered) { p.set(p.folder+"/run_1/mlperf_log_detail.txt", "power_begin", "1") })},

	{"v6.1 power, 4 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(96) })},
	{"v6.1 power, 4.994 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(95.006) })},
	{"v6.1 power, 4.996 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(95.004) })},
	{"v6.1 power, 5 % less than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(95) })},
	{"v6.1 power, more than ranging", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(200) })},
	{"v6.1 power, 5 % less than a long ranging", offline(func(p *powered) { longRanging(p, 2); p.samples["run_1"] = p.sampleLines(50) })},
	{"v6.1 power, 5 % less than a longer ranging", offline(func(p *powered) { longRanging(p, 3); p.samples["run_1"] = p.sampleLines(50) })},
	{"v6.1 power, samples of 0 W", offline(func(p *powered) { p.samples["run_1"] = p.sampleLines(0) })},
	{"v6.1 power, samples of 0 W in ranging", offline(func(p *powered) { p.samples["ranging"] = p.sampleLines(0) })},
	{"v6.1 power, samples of next to nothing in ranging", offline(func(p *powered) { p.samples["ranging"] = p.sampleLines(0.000001) })},
	{"v6.1 power, some samples below 0", offline(func(p *powered) { p.samples["run_1"] += p.sample(61, "-500") })},
	{"v6.1 power, a sample of nan", offline(func(p *powered) { p.samples["run_1"] += p.sample(61, "nan") })},
	{"v6.1 power, a sample in words", offline(func(p *powered) { p.samples["run_1"] += p.sample(61, "much") })},
	{"v6.1 power, a sample in words before the run", offline(func(p *powered) { p.samples["run_1"] += p.sample(-61, "much") })},
	{"v6.1 power, a sample at the very begin", offline(func(p *powered) { p.samples["run_1"] += p.sample(0, "much") })},
	{"v6.1 power, a sample at the very end", offline(func(p *powered) { p.samples["run_1"] += p.sample(runSeconds, "much") })},
	{"v6.1 power, a sample that is cut", offline(func(p *powered) { p.samples["run_1"] += "Time," + p.at(runSeconds + 61)[:8] })},
	{"v6.1 power, a sample that is cut behind its time", offline(func(p *powered) { p.samples["run_1"] += "Time," + p.at(runSeconds+61) + ",Wat" })},
	{"v6.1 power, a sample of the run that is cut", offline(func(p *powered) { p.samples["run_1"] += "Time," + p.at(61) + ",Watts,100" })},
	{"v6.1 power, a sample without a time", offline(func(p *powered) { p.samples["run_1"] += "Time\n" })},
	{"v6.1 power, a factor in words", offline(func(p *powered) { p.samples["run_1"] += strings.Replace(p.sample(61, "100"), "0.96", "good", 1) })},
	{"v6.1 power, other lines among samples", offline(func(p *powered) { p.samples["run_1"] = "x\n time\n" + p.samples["run_1"] })},
	{"v6.1 power, samples with carriage returns", offline(func(p *powered) {
		p.samples["run_1"] = strings.ReplaceAll(p.samples["run_1"], "\n", "\r\n")
	})},
	{"v6.1 power, samples not UTF-8", offline(func(p *powered) { p.samples["run_1"] += "\xff\n" })},
	{"v6.1 power, samples of another day", offline(func(p *powered) {
		p.samples["run_1"] = strings.ReplaceAll(p.samples["run_1"], p.at(0)[:10], "01-01-2001")
	})},

	{"v6.1 power, one message less", offline(func(p *powered) { p.client["messages"] = p.client["messages"].([]any)[:2] })},
	{"v6.1 power, no messages", offline(func(p *powered) { p.both("messages", []any{}) })},
	{"v6.1 power, another message", offline(func(p *powered) { message(p.client, 2)["cmd"] = "old" })},
	{"v6.1 power, another reply", offline(func(p *powered) { message(p.client, 2)["reply"] = "no" })},
	{"v6.1 power, another reply to time", offline(func(p *powered) { message(p.client, 1)["reply"] = "2" })},
	{"v6.1 power, no reply to time", offline(func(p *powered) { delete(message(p.client, 1), "reply") })},
	{"v6.1 power, no reply to another", offline(func(p *powered) { delete(message(p.client, 2), "reply") })},
	{"v6.1 power, null as the reply of both", offline(func(p *powered) { message(p.client, 2)["reply"], message(p.server, 2)["reply"] = nil, nil })},
	{"v6.1 power, null as the reply of one", offline(func(p *powered) { message(p.client, 2)["reply"] = nil })},
	{"v6.1 power, versions apart", offline(func(p *powered) { greet(p, "mlcommons/power client v3", "mlcommons/power server v4") })},
	{"v6.1 power, versions of two digits", offline(func(p *powered) { greet(p, "a mlcommons/power client v10", "b mlcommons/power server v10\n") })},
	{"v6.1 power, a version with more behind", offline(func(p *powered) { greet(p, "mlcommons/power client v3", "mlcommons/power server v3b") })},

	{"v6.1 power, a result changed", written(func(p *powered) { p.write(p.folder+"/power/client.log", "changed") })},
	{"v6.1 power, checksums of one side only", offline(func(p *powered) { p.client["results"] = object{} })},
	{"v6.1 power, checksums of the other side only", offline(func(p *powered) { p.server["results"] = object{} })},
	{"v6.1 power, checksums of neither side", offline(func(p *powered) { p.both("results", object{}) })},
	{"v6.1 power, checksums that differ", written(func(p *powered) {
		sums := p.sums()
		sums["power/client.log"] = "0"
		p.client["results"] = sums
		p.writeJSON("client.json", p.client)
	})},
	{"v6.1 power, checksums of other files too", written(func(p *powered) {
		sums := p.sums()
		sums["run_1/other.txt"] = "0"
		p.client["results"] = sums
		p.writeJSON("client.json", p.client)
	})},
	{"v6.1 power, checksums a list", offline(func(p *powered) { p.client["results"] = []any{} })},

	{"v6.1 power with a broken link beside it", written(func(p *powered) { p.symlink("nowhere", p.folder+"/notes") })},
	{"v6.1 power with a broken link below a folder", written(func(p *powered) {
		p.write(p.folder+"/power/more/x", "x")
		p.symlink("nowhere", p.folder+"/power/more/notes")
	})},
	{"v6.1 power with a link to a file elsewhere", written(func(p *powered) {
		p.rename(p.folder+"/power/client.log", openBench("client.log"))
		p.symlink("../../../../client.log", p.folder+"/power/client.log")
	})},
	{"v6.1 power with ranging behind a link", written(func(p *powered) {
		p.rename(p.folder+"/ranging", p.folder+"/elsewhere")
		p.symlink("elsewhere", p.folder+"/ranging")
	})},
	{"v6.1 power with performance behind a link", written(func(p *powered) {
		p.rename(p.folder, "open/ExampleOrg/src/performance")
		p.symlink("../../../../src/performance", p.folder)
	})},
}
